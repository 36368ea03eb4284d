import { z } from 'zod';
import type { Principal } from '../../access/actors.ts';
import type { Page } from '../../db/page.ts';
import { endpointFor } from '../endpoint.ts';
import { pageQuery } from '../list-query.ts';
import type { Surface } from '../surface.ts';
import * as console from './console.ts';

/** Endpoints of domain knowledge: called by people and programs with a token, worded like the console. */
export const endpoint = endpointFor<'console', Principal>();

export const surface: Surface = {
  ...console.surface,
  name: 'knowledge',
  bases: ['/api/v1/domain-knowledge'],
  title: 'Domain knowledge',
  description:
    'Concepts, a semantic layer and an ontology, with every version, and suggestions by an AI model, which people review. With a session or service token.',
};

/** The query of every list: which page. */
export const pages = pageQuery('per_page');

/** Schema of the list envelope of domain knowledge. */
export const listOf = <S extends z.ZodType>(record: S) =>
  z.object({ total: z.int(), page: z.int(), per_page: z.int(), records: z.array(record) });

/** A page of records in the list envelope of domain knowledge. */
export const list = <T, V>({ total, page, perPage, records }: Page<T>, view: (record: T) => V) => ({
  total,
  page,
  per_page: perPage,
  records: records.map(view),
});
