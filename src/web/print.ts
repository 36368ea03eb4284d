/** Calls `setPrinted` with true before printing, and with false afterwards. @returns a function that stops these calls */
export function onPrint(setPrinted: (isPrinted: boolean) => void): () => void {
  let isPrinting = false;
  const end = new AbortController();
  const { signal } = end;
  const reportPrinting = (isPrinted: boolean) => {
    if (isPrinted === isPrinting) return;
    isPrinting = isPrinted;
    setPrinted(isPrinted);
  };
  addEventListener('beforeprint', () => reportPrinting(true), { signal });
  addEventListener('afterprint', () => reportPrinting(false), { signal });
  // Some browsers show how it will look, and say no more than this.
  matchMedia('print').addEventListener('change', ({ matches }) => reportPrinting(matches), { signal });
  return () => end.abort();
}
