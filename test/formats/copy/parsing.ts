const ESCAPED_CHARACTERS: Record<string, string> = { t: '\t', n: '\n', r: '\r', '\\': '\\' };

/** Parses COPY's text format into rows of values. */
export function parseCopyText(text: string): (string | null)[][] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) =>
      line
        .split('\t')
        .map((cell) =>
          cell === '\\N' ? null : cell.replace(/\\(.)/g, (_, letter: string) => ESCAPED_CHARACTERS[letter] ?? letter),
        ),
    );
}
