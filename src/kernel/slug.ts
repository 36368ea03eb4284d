const LONGEST = 48;

/** A slug made from a name: accents stripped, lower case, hyphens between words; `fallback` when nothing is left. */
export function slugFrom(name: string, fallback: string): string {
  const slug = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, LONGEST)
    .replaceAll(/^-+|-+$/g, '');
  return slug === '' ? fallback : slug;
}
