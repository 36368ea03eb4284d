/** A code as people paste it: with what mails, chats and sheets of paper put around it and within it. */
export const pasted = (code: string): string[] => {
  const half = Math.floor(code.length / 2);
  const parted = (by: string) => code.slice(0, half) + by + code.slice(half);
  return [
    ` ${code}`,
    `${code}\r\n`,
    `\n${parted(' ')}\t`,
    parted('-'),
    parted(' - '),
    parted('\u00a0'),
    parted('\u2013'),
    parted('\n'),
  ];
};
