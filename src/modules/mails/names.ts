/** Longest name that a mail shows, in characters: what is longer is not a name. */
const LONGEST = 80;

/** An address of a page as people type it: with its scheme, with `www.`, or a host with a path behind it. */
const PAGE = /(?:\p{L}[\p{L}\d+.-]*:\/\/|www[.。．｡])\S*|[\p{L}\d-]+(?:[.。．｡][\p{L}\d-]+)+[/:?#]\S*/giu;

/** The dot of what could be a host, which mail programs make a link of by themselves. */
const DOT_OF_HOST = /(?<=[\p{L}\d])[.。．｡](?=[\p{L}\d-]{2})/gu;

/**
 * A name, as a mail shows it: on one line, and without addresses of pages. Names of people and companies are other people's
 * input, and a mail goes to whoever they like: it must not carry an invitation of theirs to another place.
 * @param instead for a name of which nothing is left
 */
export function shownName(name: string, instead: string): string {
  const plain = name.normalize('NFKC').replaceAll(/[\s\p{C}]+/gu, ' ');
  const shown = plain.replaceAll(PAGE, ' ').replaceAll(DOT_OF_HOST, ' ').replaceAll(/ +/g, ' ').trim();
  const characters = [...shown];
  if (characters.length > LONGEST) return `${characters.slice(0, LONGEST).join('').trimEnd()}…`;
  return shown === '' ? instead : shown;
}
