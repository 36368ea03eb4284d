import { ApiProblem } from '../api.ts';
import { h, uniqueId } from '../dom.ts';
import { TEXTS } from '../texts.ts';

/** A way to download what a card shows. */
export interface Download {
  label: string;
  make(): Promise<File>;
}

/** A button that opens a menu of downloads, and the status of the last one. */
export interface DownloadMenu {
  button: HTMLElement;
  panel: HTMLElement;
  status: HTMLElement;
  /** Offers these; none hide the button. */
  offer(downloads: readonly Download[]): void;
}

/**
 * Makes the menu of a card. The browser opens it above all cards, closes it by Escape or a click elsewhere, and goes on from its
 * button to it by Tab.
 * @param name of the card, for screen readers
 */
export function downloadMenu(name: string): DownloadMenu {
  const id = uniqueId('download');
  const status = h('p', { class: 'note', role: 'status', hidden: true });
  const panel = h('div', {
    id,
    class: 'menu',
    popover: 'auto',
    role: 'group',
    'aria-label': TEXTS.downloadOf(name),
  });
  const button = h(
    'button',
    { type: 'button', class: 'quiet', popovertarget: id, 'aria-label': TEXTS.downloadOf(name), hidden: true },
    TEXTS.download,
  );
  panel.addEventListener('toggle', place);

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
      setStatus(messageOf(error), true);
    }
  }

  function setStatus(text: string, isProblem: boolean): void {
    status.textContent = text;
    status.classList.toggle('error', isProblem);
    status.hidden = text === '';
  }

  return {
    button,
    panel,
    status,
    offer(downloads) {
      setStatus('', false);
      button.hidden = downloads.length === 0;
      panel.replaceChildren(
        ...downloads.map((each) => h('button', { type: 'button', onclick: () => void run(each) }, each.label)),
      );
    },
  };
}

function messageOf(error: unknown): string {
  if (!(error instanceof ApiProblem)) return TEXTS.broken;
  return error.details.some(({ field }) => field === 'format') ? TEXTS.tooLongForXlsx : error.message;
}

/** How long a browser may take to begin to save. Milliseconds. */
const SAVING_MS = 60_000;

function save(file: File): void {
  const href = URL.createObjectURL(file);
  h('a', { href, download: file.name }).click();
  setTimeout(() => URL.revokeObjectURL(href), SAVING_MS);
}
