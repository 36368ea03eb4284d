import '../styles/main.css';
import '../styles/mail-links.css';
import type { MailLinkView } from '../../presentation/mail-links.ts';
import { applyBranding, brandingOfPage, buildLogo } from '../branding/apply.ts';
import { h } from '../dom.ts';
import { TEXTS } from '../texts.ts';
import { followScheme } from '../theme.ts';
import { LINK_TEXTS } from './texts.ts';

const page = document.getElementById('page') as HTMLElement;
const branding = brandingOfPage();

/** Applies the brand of the company that the mailed link belongs to. */
export function applyPageBranding(): void {
  applyBranding(branding);
  followScheme(() => {});
}

/** Shows a card under the company's logo. The heading of an answer has the focus, so that it is read out. */
export function showCard(title: string, content: (Node | string | false)[], isAnswer = false): void {
  document.title = branding.name === undefined || title.includes(branding.name) ? title : `${title} – ${branding.name}`;
  const heading = h('h1', { tabindex: isAnswer && '-1' }, title);
  page.replaceChildren(
    h(
      'main',
      { class: 'message' },
      h('div', { class: 'card sign-in mail-link' }, buildLogo(branding), heading, ...content),
    ),
  );
  if (isAnswer) heading.focus();
}

export const paragraph = (text: string, className = ''): HTMLElement =>
  h('p', { class: className === '' ? undefined : className }, text);

/** A paragraph with an address in it, which stands out. */
export const paragraphAbout = (email: string, parts: readonly string[]): HTMLElement =>
  h('p', {}, ...parts.map((part) => (part === email ? h('strong', {}, part) : part)));

/** A hidden field with the user's email address, so that password managers store it with the password. */
export const buildHiddenEmailField = ({ email }: MailLinkView): HTMLElement =>
  h('input', {
    class: 'unseen',
    type: 'email',
    autocomplete: 'username',
    readonly: true,
    tabindex: -1,
    'aria-hidden': 'true',
    value: email,
  });

/** Returns elements that tell somebody whose password is set how and where to sign in. */
export function howToSignIn({ email, company, sso_only: ssoOnly }: MailLinkView): HTMLElement[] {
  if (ssoOnly) return [paragraph(LINK_TEXTS.bySso(company.name))];
  const facts = { [LINK_TEXTS.server]: location.origin, [LINK_TEXTS.company]: company.slug, [TEXTS.email]: email };
  return [
    paragraph(LINK_TEXTS.appsAsk),
    h('dl', {}, ...Object.entries(facts).flatMap(([term, value]) => [h('dt', {}, term), h('dd', {}, value)])),
    h('a', { href: '/docs' }, LINK_TEXTS.howToSignIn),
  ];
}
