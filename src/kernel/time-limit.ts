/**
 * Waits for `work` no longer than `ms`. It may still be done afterwards.
 * @throws the error that `late` makes where it takes longer
 */
export async function withinTime<T>(
  ms: number,
  work: Promise<T>,
  late = () => new Error(`not done within ${ms} ms`),
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), ms);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
