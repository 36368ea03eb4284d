/** Calls `print` with true before printing, and with false afterwards. @returns a function that stops this */
export function onPrint(print: (isPrinted: boolean) => void): () => void {
  let isPrinting = false;
  const end = new AbortController();
  const { signal } = end;
  const tell = (isPrinted: boolean) => {
    if (isPrinted === isPrinting) return;
    isPrinting = isPrinted;
    print(isPrinted);
  };
  addEventListener('beforeprint', () => tell(true), { signal });
  addEventListener('afterprint', () => tell(false), { signal });
  // Some browsers show how it will look, and say no more than this.
  matchMedia('print').addEventListener('change', ({ matches }) => tell(matches), { signal });
  return () => end.abort();
}
