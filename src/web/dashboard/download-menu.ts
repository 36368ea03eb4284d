import { ApiProblem } from '../api.ts';
import { h } from '../dom.ts';
import { TEXTS } from '../texts.ts';

/** A way to download the content of a card. */
export interface Download {
  label: string;
  make(): Promise<File>;
}

/**
 * Makes and opens the menu of a card. The browser opens it above all cards, closes it by Escape or a click elsewhere, and goes on
 * from its button to it by Tab; from now on the button opens it.
 * @param status tells the progress of a download
 * @param offered the downloads of the card's present content
 */
export function openMenu(button: HTMLButtonElement, status: HTMLElement, offered: () => readonly Download[]): void {
  const panel = h('div', {
    class: 'menu',
    popover: 'auto',
    role: 'group',
    'aria-label': button.getAttribute('aria-label') ?? undefined,
    onbeforetoggle: fill,
    ontoggle: place,
  });

  function fill(): void {
    const choices = offered().map((each) => h('button', { type: 'button', onclick: () => void run(each) }, each.label));
    panel.replaceChildren(...choices);
  }

  function place(): void {
    const { bottom, right } = button.getBoundingClientRect();
    panel.style.top = `${Math.max(0, Math.min(bottom + 4, innerHeight - panel.offsetHeight))}px`;
    panel.style.left = `${Math.max(0, right - panel.offsetWidth)}px`;
  }

  async function run({ make }: Download): Promise<void> {
    panel.hidePopover();
    button.focus();
    setStatus(TEXTS.preparing, false);
    try {
      save(await make());
      setStatus('', false);
    } catch (error) {
      setStatus(toMessage(error), true);
    }
  }

  function setStatus(text: string, isProblem: boolean): void {
    status.textContent = text;
    status.classList.toggle('error', isProblem);
    status.hidden = text === '';
  }

  button.after(panel);
  button.popoverTargetElement = panel;
  panel.showPopover();
}

function toMessage(error: unknown): string {
  if (!(error instanceof ApiProblem)) return TEXTS.broken;
  return error.details.some(({ field }) => field === 'format') ? TEXTS.tooLongForXlsx : error.message;
}

/** The time for which a saved file stays available: a browser may begin to save late. Milliseconds. */
const SAVING_MS = 60_000;

function save(file: File): void {
  const href = URL.createObjectURL(file);
  h('a', { href, download: file.name }).click();
  setTimeout(() => URL.revokeObjectURL(href), SAVING_MS);
}
