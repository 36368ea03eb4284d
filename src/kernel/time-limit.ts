/** Waits for `work`, which may still be done afterwards, no longer than `ms`. @throws what `late` makes */
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
