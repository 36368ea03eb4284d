const LONGEST = 48;

/** A slug for a group of this name: accents stripped, lower case, hyphens between words; `group` when nothing is left. */
export function slugOf(name: string): string {
  const slug = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, LONGEST)
    .replaceAll(/^-+|-+$/g, '');
  return slug === '' ? 'group' : slug;
}
