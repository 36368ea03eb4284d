const MAX_LENGTH = 255;

/**
 * The name a sender gave a file, made fit to be stored and shown: the base name only, without control characters and
 * invisible ones that change the direction of text, in one Unicode form, at most 255 characters with its extension kept.
 */
export function fileName(given: string): string {
  const base = given.slice(Math.max(given.lastIndexOf('/'), given.lastIndexOf('\\')) + 1);
  const visible = base
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '')
    .normalize('NFC')
    .trim();
  const characters = Array.from(visible);
  if (characters.length <= MAX_LENGTH) return visible;
  const dot = visible.lastIndexOf('.');
  const extension = dot > 0 ? Array.from(visible.slice(dot)).slice(0, 16) : [];
  return [...characters.slice(0, MAX_LENGTH - extension.length), ...extension].join('');
}
