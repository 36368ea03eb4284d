import { h, labelButton } from '../dom.ts';
import { LOCALE, TEXTS } from '../texts.ts';

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];
const COPIED_NOTICE_MS = 2_000;

/** The display of the age of a page's results, with buttons that run the queries again and copy the page's URL. */
export interface FreshnessDisplay {
  element: HTMLElement;
  /** Shows the age of the results (ms); undefined while there are none. */
  showAge(age: number | undefined): void;
}

/** Builds the display of the age of a page's results. @param isOwnPage whether the URL that the browser shows is this page's */
export function buildFreshness(runAgain: () => void, isOwnPage: boolean): FreshnessDisplay {
  let computedAt: number | undefined;
  let timer: ReturnType<typeof setInterval> | undefined;
  // A new age is nothing to interrupt a screen reader for.
  const ageText = h('span', { class: 'ago' });
  const at = h('span', { class: 'at' });
  const runAgainButton = h('button', { type: 'button', class: 'quiet icon again', onclick: runAgain });
  labelButton(runAgainButton, TEXTS.runAgain);
  const copyButton = h('button', { type: 'button', class: 'quiet', onclick: () => void copyAddress() }, TEXTS.copyLink);
  // Browsers let pages copy only where nobody listens on the way.
  copyButton.hidden = !isOwnPage || !navigator.clipboard;
  const ageLine = h('p', {}, ageText, at);
  const element = h('div', { class: 'freshness' }, ageLine, runAgainButton, copyButton);

  function updateAge(): void {
    if (!element.isConnected || computedAt === undefined) clearInterval(timer);
    else ageText.textContent = formatUpdated(Date.now() - computedAt);
  }

  async function copyAddress(): Promise<void> {
    const isCopied = await navigator.clipboard.writeText(location.href).then(
      () => true,
      () => false,
    );
    copyButton.textContent = isCopied ? TEXTS.copied : TEXTS.notCopied;
    setTimeout(() => (copyButton.textContent = TEXTS.copyLink), COPIED_NOTICE_MS);
  }

  return {
    element,
    showAge(age) {
      clearInterval(timer);
      computedAt = age === undefined ? undefined : Date.now() - age;
      ageLine.hidden = runAgainButton.hidden = computedAt === undefined;
      if (computedAt === undefined) return;
      const time = new Date(computedAt).toLocaleString(LOCALE, { dateStyle: 'medium', timeStyle: 'short' });
      at.textContent = ageText.title = TEXTS.asOf(time);
      ageText.textContent = formatUpdated(age as number);
      timer = setInterval(updateAge, MINUTE / 4);
    },
  };
}

function formatUpdated(age: number): string {
  if (age < MINUTE) return TEXTS.updatedNow;
  const formatAgo = (unit: Intl.RelativeTimeFormatUnit, size: number) =>
    TEXTS.updated(new Intl.RelativeTimeFormat(LOCALE).format(-Math.floor(age / size), unit));
  if (age < HOUR) return formatAgo('minute', MINUTE);
  return age < DAY ? formatAgo('hour', HOUR) : formatAgo('day', DAY);
}
