import { ApiProblem } from '../api.ts';
import { h } from '../dom.ts';
import { TEXTS } from '../texts.ts';

/** A format in which the content of a card can be downloaded. */
export interface Download {
  label: string;
  makeFile(): Promise<File>;
}

/**
 * Creates and opens the menu of a card. The browser shows the menu above all cards, closes it by Escape or a click elsewhere,
 * and moves the focus from the button into the menu by Tab; from then on the button itself opens the menu. @param showStatus
 * shows the progress of a download @param listDownloads returns the downloads of the card's current content
 */
export function openMenu(
  button: HTMLButtonElement,
  showStatus: (text: string, isProblem?: boolean) => void,
  listDownloads: () => readonly Download[],
): void {
  const panel = h('div', {
    class: 'menu',
    popover: 'auto',
    role: 'group',
    'aria-label': button.getAttribute('aria-label') ?? undefined,
    onbeforetoggle: fillPanel,
    ontoggle: placePanel,
  });

  function fillPanel(): void {
    const choices = listDownloads().map((download) =>
      h('button', { type: 'button', onclick: () => void runDownload(download) }, download.label),
    );
    panel.replaceChildren(...choices);
  }

  function placePanel(): void {
    const { bottom, right } = button.getBoundingClientRect();
    panel.style.top = `${Math.max(0, Math.min(bottom + 4, innerHeight - panel.offsetHeight))}px`;
    panel.style.left = `${Math.max(0, right - panel.offsetWidth)}px`;
  }

  async function runDownload({ makeFile: make }: Download): Promise<void> {
    panel.hidePopover();
    button.focus();
    showStatus(TEXTS.preparing);
    try {
      saveFile(await make());
      showStatus('');
    } catch (error) {
      showStatus(toErrorMessage(error), true);
    }
  }

  button.after(panel);
  button.popoverTargetElement = panel;
  panel.showPopover();
}

function toErrorMessage(error: unknown): string {
  if (!(error instanceof ApiProblem)) return TEXTS.broken;
  return error.details.some(({ field }) => field === 'format') ? TEXTS.tooLongForXlsx : error.message;
}

/** The time for which a saved file stays available: a browser may begin to save late. Milliseconds. */
const FILE_AVAILABLE_MS = 60_000;

function saveFile(file: File): void {
  const href = URL.createObjectURL(file);
  h('a', { href, download: file.name }).click();
  setTimeout(() => URL.revokeObjectURL(href), FILE_AVAILABLE_MS);
}
