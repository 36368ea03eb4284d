import { h, labelButton } from '../dom.ts';
import { onPrint } from '../print.ts';
import { TEXTS } from '../texts.ts';

/** Opens a card in full screen or closes it; where the browser or host page forbids that, the card fills the page. */
export async function toggleFullScreen(card: HTMLElement, button: HTMLElement): Promise<void> {
  const openDialog = card.closest('dialog');
  if (openDialog) return openDialog.close();
  if (document.fullscreenEnabled) await document.documentElement.requestFullscreen().catch(() => undefined);
  const placeholder = h('div', { class: 'widget' });
  placeholder.style.cssText = card.style.cssText;
  placeholder.style.height = `${card.offsetHeight}px`;
  const dialog = h('dialog', {
    class: 'whole-screen',
    'aria-labelledby': card.getAttribute('aria-labelledby') ?? undefined,
    onclose: restoreCard,
  });
  card.replaceWith(placeholder);
  dialog.append(card);
  // Where the page of the card ends, so does the dialog.
  (placeholder.closest('main') ?? document.body).append(dialog);
  const [label, title] = [button.getAttribute('aria-label') ?? '', button.title];
  labelButton(button, TEXTS.close);
  dialog.showModal();
  button.focus();
  document.addEventListener('fullscreenchange', closeWithFullScreen);
  const stopPrinting = onPrint(() => dialog.close());

  function closeWithFullScreen(): void {
    if (!document.fullscreenElement) dialog.close();
  }

  function restoreCard(): void {
    stopPrinting();
    document.removeEventListener('fullscreenchange', closeWithFullScreen);
    if (document.fullscreenElement) void document.exitFullscreen();
    placeholder.replaceWith(card);
    dialog.remove();
    labelButton(button, label, title);
    button.focus();
  }
}
