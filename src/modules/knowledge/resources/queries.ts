import { z } from 'zod';
import { textOf } from './members.ts';
import { STATUSES } from './service.ts';

/** `search` of a list: a literal part of names, descriptions and aliases, in any case. */
export const search = textOf(200).optional();

/** `status` of a list: all but archived ones when it is not sent. */
export const status = z.enum(STATUSES).optional();
