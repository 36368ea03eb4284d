import type { LetInView } from '../../presentation/letting-in.ts';
import { h } from '../dom.ts';
import { fieldOf, formOf } from '../mail-links/form.ts';
import { paragraph, showCard } from '../mail-links/page.ts';
import { TEXTS } from '../texts.ts';
import { ask, type SignedIn, type SignInResult } from './api.ts';
import { LET_IN } from './texts.ts';

type Company = NonNullable<LetInView['company']>;
type Then = (signedIn: SignedIn) => void;

/** What the tab keeps while the browser is at the identity provider. */
const KEPT = 'let-in';

interface Kept {
  /** The address of the page that goes on. */
  address: string;
  /** Needed to exchange the code that the way ends with. */
  secret?: string;
  /** What that answered. */
  result?: SignInResult | { failed: true };
}

const button = (text: string, work: () => void, type = 'quiet'): HTMLElement =>
  h('button', { type: 'button', class: type, onclick: work }, text);

const codeAttributes = { autocomplete: 'one-time-code', required: true, spellcheck: 'false', autocapitalize: 'off' };

/** Asks for the company, whose own sign-in the page is loaded with. */
export function askForCompany(title: string): void {
  const field = fieldOf('slug', LET_IN.company, {
    autocomplete: 'organization',
    required: true,
    spellcheck: 'false',
    autocapitalize: 'off',
  });
  const choose = async () => {
    const slug = field.input.value.trim().toLowerCase();
    const { exists } = await ask<{ exists: boolean }>(`/v1/auth/validate-company?${new URLSearchParams({ slug })}`);
    if (!exists) {
      field.complain(LET_IN.noSuchCompany);
      field.input.focus();
      return;
    }
    goToCompany(slug);
  };
  showCard(title, [paragraph(LET_IN.companyAsked), formOf(LET_IN.next, [field], choose)]);
  field.input.focus();
}

function goToCompany(slug: string | null): void {
  const address = new URL(location.href);
  if (slug === null) address.searchParams.delete('company_slug');
  else address.searchParams.set('company_slug', slug);
  location.assign(address);
}

/** Signs somebody in by every way that the company has, then goes on. */
export function signIn(company: Company, then: Then, isOwner = false): void {
  if (company.sso_only && !isOwner) {
    showCard(LET_IN.signIn(company.name), [
      paragraph(LET_IN.ssoOnly),
      ...ssoWay(company, 'primary'),
      button(LET_IN.passwordInstead, () => signIn(company, then, true)),
      otherCompany(),
    ]);
    return;
  }
  const email = fieldOf('email', TEXTS.email, { type: 'email', autocomplete: 'username', required: true });
  const password = fieldOf('password', LET_IN.password, {
    type: 'password',
    autocomplete: 'current-password',
    required: true,
  });
  const identity = () => ({ company_slug: company.slug, email: email.input.value.trim() });
  const withPassword = async () =>
    goOn(await ask('/v1/auth/login', { body: { ...identity(), password: password.input.value } }), then);
  const withCode = async () => {
    await ask('/v1/auth/passwordless/request', { body: identity() });
    askForCode(identity(), then);
  };
  const form = formOf(LET_IN.signInAction, [email, password], withPassword);
  const byCode = formOf(LET_IN.mailCode, [], withCode);
  const needsEmail = (event: Event) => {
    if (email.input.value.trim() !== '') return;
    event.preventDefault();
    event.stopImmediatePropagation();
    email.input.focus();
    email.complain(TEXTS.failures.VALIDATION_ERROR);
  };
  byCode.addEventListener('submit', needsEmail, { capture: true });
  showCard(LET_IN.signIn(company.name), [
    form,
    h('h2', { class: 'small' }, LET_IN.otherWays),
    // Further ways to sign in, such as passkeys, stand here: each ends with `goOn`.
    byCode,
    ...ssoWay(company, ''),
    otherCompany(),
  ]);
  email.input.focus();
}

const otherCompany = (): HTMLElement => button(LET_IN.anotherCompany, () => goToCompany(null));

function ssoWay(company: Company, type: string): HTMLElement[] {
  if (!company.sso) return [];
  const begin = async () => {
    const back = `${location.origin}/oauth/signed-in`;
    const begun = await ask<{ url: string; exchange_secret: string }>(
      `/v1/auth/sso/${encodeURIComponent(company.slug)}/start?${new URLSearchParams({ redirect_uri: back })}`,
    );
    keep({ address: location.href, secret: begun.exchange_secret });
    location.assign(begun.url);
  };
  const form = formOf(LET_IN.sso, [], begin);
  if (type === '') form.querySelector('button')?.classList.remove('primary');
  return [form];
}

const keep = (kept: Kept): void => sessionStorage.setItem(KEPT, JSON.stringify(kept));

/** What the tab kept, which it forgets. */
function takeKept(): Kept | null {
  const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? 'null') as Kept | null;
  sessionStorage.removeItem(KEPT);
  return kept;
}

/** The page that the identity provider leads back to: it loads the one that goes on. */
export async function returnFromProvider(): Promise<void> {
  const kept = takeKept();
  const code = new URLSearchParams(location.search).get('code');
  if (!kept) return showCard(LET_IN.badTitle, [paragraph(LET_IN.nothing)], true);
  const { address, secret } = kept;
  const exchanged = async (): Promise<SignInResult> =>
    ask('/v1/auth/sso/exchange', { body: { code, exchange_secret: secret } });
  const result =
    code === null ? ({ failed: true } as const) : await exchanged().catch(() => ({ failed: true }) as const);
  keep({ address, result });
  location.replace(address);
}

/** Goes on after single sign-on, if the tab has just come back from there. @returns whether it does */
export function continueAfterProvider(then: Then): boolean {
  const kept = takeKept();
  if (kept?.result === undefined || kept.address !== location.href) return false;
  if ('failed' in kept.result) {
    const again = button(LET_IN.next, () => location.reload(), 'primary');
    showCard(LET_IN.badTitle, [paragraph(LET_IN.ssoFailed), again], true);
  } else goOn(kept.result, then);
  return true;
}

function askForCode(identity: { company_slug: string; email: string }, then: Then): void {
  const field = fieldOf('code', LET_IN.code, { ...codeAttributes, inputmode: 'numeric' });
  const verify = async () =>
    goOn(await ask('/v1/auth/passwordless/verify', { body: { ...identity, code: field.input.value } }), then);
  showCard(LET_IN.codeTitle, [
    paragraph(LET_IN.codeSent(identity.email)),
    formOf(LET_IN.signInAction, [field], verify),
  ]);
  field.input.focus();
}

/** The first factor is proved: asks for the second one, has it set up, or goes on. */
function goOn(result: SignInResult, then: Then): void {
  const { token, user, pending_2fa_token: pending } = result;
  if (token !== undefined && user) then({ token, email: user.email });
  else if (result.requires_2fa_setup) void setUpFactor(pending as string, then);
  else askForFactor(pending as string, then);
}

function askForFactor(pending: string, then: Then): void {
  const field = fieldOf('code', LET_IN.code, codeAttributes);
  const finish = async () => {
    const code = field.input.value.trim();
    const sent = /^[\d\s-]+$/.test(code) && code.replaceAll(/\D/g, '').length === 6 ? 'totp_token' : 'backup_code';
    goOn(await ask('/v1/auth/2fa/login', { body: { pending_2fa_token: pending, [sent]: code } }), then);
  };
  showCard(LET_IN.factorTitle, [paragraph(LET_IN.factorAsked), formOf(LET_IN.next, [field], finish)]);
  field.input.focus();
}

async function setUpFactor(pending: string, then: Then): Promise<void> {
  const body = { pending_2fa_token: pending };
  const made = await ask<{ secret: string; otpauth_url: string }>('/v1/auth/2fa/setup', { body });
  const field = fieldOf('code', LET_IN.code, { ...codeAttributes, inputmode: 'numeric' });
  const enable = async () => {
    const sent = { ...body, totp_token: field.input.value };
    const result = await ask<SignInResult & { backup_codes: string[] }>('/v1/auth/2fa/enable', { body: sent });
    showCard(
      LET_IN.backupTitle,
      [
        paragraph(LET_IN.backupText),
        h('ul', {}, ...result.backup_codes.map((code) => h('li', {}, h('code', {}, code)))),
        button(LET_IN.next, () => goOn(result, then), 'primary'),
      ],
      true,
    );
  };
  showCard(LET_IN.setupTitle, [
    paragraph(LET_IN.setupAsked),
    h('dl', {}, h('dt', {}, LET_IN.setupKey), h('dd', {}, h('code', {}, made.secret))),
    h('a', { href: made.otpauth_url }, LET_IN.setupLink),
    formOf(LET_IN.next, [field], enable),
  ]);
  field.input.focus();
}
