/** Waits for `work` no longer than `ms`; the work may still finish afterwards. @throws the error that `makeError` returns */
export async function awaitWithinTime<T>(
  ms: number,
  work: Promise<T>,
  makeError = () => new Error(`not done within ${ms} ms`),
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(makeError()), ms);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
