import '../styles/main.css';
import { applyBranding, brandingOfPage, logoOf } from '../branding/apply.ts';
import { h } from '../dom.ts';
import { TEXTS } from '../texts.ts';
import { followScheme } from '../theme.ts';

/**
 * The page of `/unsubscribe/{token}`. Programs that look into mails open their links: nothing ends before somebody presses the
 * button.
 */
const branding = brandingOfPage();
applyBranding(branding);
followScheme(() => {});

const texts = TEXTS.unsubscribe;
const status = h('p', { role: 'status' }, texts.question);
const button = h('button', { type: 'button', class: 'primary', onclick: () => void unsubscribe() }, texts.button);
const card = h('div', { class: 'card sign-in' }, logoOf(branding) ?? null, h('h1', {}, texts.title), status, button);
document.getElementById('page')?.replaceChildren(h('main', { class: 'message' }, card));

async function unsubscribe(): Promise<void> {
  button.disabled = true;
  const answer = await fetch(location.pathname, {
    method: 'POST',
    body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }),
  }).catch(() => undefined);
  const isOver = answer?.ok === true || answer?.status === 404;
  status.textContent = answer?.ok ? texts.done : isOver ? texts.unknown : TEXTS.broken;
  button.hidden = isOver;
  button.disabled = false;
}
