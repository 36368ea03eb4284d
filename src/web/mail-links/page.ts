import '../styles/main.css';
import '../styles/mail-links.css';
import type { MailLinkView } from '../../presentation/mail-links.ts';
import { applyBranding, buildLogo, readPageBranding } from '../branding/apply.ts';
import { h } from '../dom.ts';
import { TEXTS } from '../texts.ts';
import { followScheme } from '../theme.ts';
import { LINK_TEXTS } from './texts.ts';

const page = document.getElementById('page') as HTMLElement;
const branding = readPageBranding();

/** Applies the brand of the company that the mailed link belongs to. */
export function applyPageBranding(): void {
  applyBranding(branding);
  followScheme(() => {});
}

/** Shows a card under the company's logo. With `isAnswer`, the heading gets the focus, so that screen readers read it. */
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

export const buildParagraph = (text: string, className = ''): HTMLElement =>
  h('p', { class: className === '' ? undefined : className }, text);

/** Builds a paragraph with a highlighted email address in it. */
export const buildEmailParagraph = (email: string, parts: readonly string[]): HTMLElement =>
  h('p', {}, ...parts.map((textPart) => (textPart === email ? h('strong', {}, textPart) : textPart)));

/** Builds a hidden field with the user's email address, so that password managers store it with the password. */
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

/** Builds the elements that say, after a user has set a password, where and how to sign in. */
export function buildSignInGuide({ email, company, sso_only: ssoOnly }: MailLinkView): HTMLElement[] {
  if (ssoOnly) return [buildParagraph(LINK_TEXTS.bySso(company.name))];
  const signInFacts = {
    [LINK_TEXTS.server]: location.origin,
    [LINK_TEXTS.company]: company.slug,
    [TEXTS.email]: email,
  };
  return [
    buildParagraph(LINK_TEXTS.appsAsk),
    h('dl', {}, ...Object.entries(signInFacts).flatMap(([term, value]) => [h('dt', {}, term), h('dd', {}, value)])),
    h('a', { href: '/docs' }, LINK_TEXTS.howToSignIn),
  ];
}
