import { h, labelButton } from '../dom.ts';
import { TEXTS } from '../texts.ts';

/** Opens a card in full screen or closes it; where browser or host forbid that, the card fills the page. */
export async function toggleWhole(card: HTMLElement, button: HTMLElement): Promise<void> {
  const open = card.closest('dialog');
  if (open) return open.close();
  if (document.fullscreenEnabled) await document.documentElement.requestFullscreen().catch(() => undefined);
  const place = h('div', { class: 'widget' });
  place.style.cssText = card.style.cssText;
  place.style.height = `${card.offsetHeight}px`;
  const dialog = h('dialog', {
    class: 'whole-screen',
    'aria-labelledby': card.getAttribute('aria-labelledby') ?? undefined,
    onclose: close,
  });
  card.replaceWith(place);
  dialog.append(card);
  document.body.append(dialog);
  const [label, title] = [button.getAttribute('aria-label') ?? '', button.title];
  labelButton(button, TEXTS.close);
  dialog.showModal();
  button.focus();
  document.addEventListener('fullscreenchange', leave);

  function leave(): void {
    if (!document.fullscreenElement) dialog.close();
  }

  function close(): void {
    document.removeEventListener('fullscreenchange', leave);
    if (document.fullscreenElement) void document.exitFullscreen();
    place.replaceWith(card);
    dialog.remove();
    labelButton(button, label, title);
    button.focus();
  }
}
