/** Returns a code as people paste it: with the characters that mails, chats and sheets of paper put around and within it. */
export const makePastedCodes = (code: string): string[] => {
  const half = Math.floor(code.length / 2);
  const splitCode = (by: string) => code.slice(0, half) + by + code.slice(half);
  return [
    ` ${code}`,
    `${code}\r\n`,
    `\n${splitCode(' ')}\t`,
    splitCode('-'),
    splitCode(' - '),
    splitCode('\u00a0'),
    splitCode('\u2013'),
    splitCode('\n'),
  ];
};
