import { slugFrom } from '../../kernel/slug.ts';

/** A slug for a group of this name. */
export const slugOf = (name: string): string => slugFrom(name, 'group');
