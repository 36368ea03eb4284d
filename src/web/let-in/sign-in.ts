import type { LetInView } from '../../presentation/letting-in.ts';
import { ApiProblem } from '../api.ts';
import { h } from '../dom.ts';
import { buildField, buildForm } from '../mail-links/form.ts';
import { paragraph, showCard } from '../mail-links/page.ts';
import { TEXTS } from '../texts.ts';
import { ask, type SignedIn, type SignInResult } from './api.ts';
import { LET_IN } from './texts.ts';

type Company = NonNullable<LetInView['company']>;
type OnSignedIn = (signedIn: SignedIn) => void;

/** The key of the data that the tab keeps while the browser is at the identity provider. */
const STORAGE_KEY = 'let-in';

interface StoredSignIn {
  /** The address of the page that goes on. */
  address: string;
  /** The secret with which the code is exchanged that single sign-on ends with. */
  secret?: string;
  /** The values that must come with an ID token of another provider. */
  social?: { slug: string; state: string; nonce: string };
  /** The answer to the ID token. */
  result?: SignInResult | { failed: true };
}

const button = (text: string, work: () => void, type = 'quiet'): HTMLElement =>
  h('button', { type: 'button', class: type, onclick: work }, text);

const codeAttributes = { autocomplete: 'one-time-code', required: true, spellcheck: 'false', autocapitalize: 'off' };

/** Asks for the company, whose own sign-in the page is loaded with. */
export function askForCompany(title: string): void {
  const field = buildField('slug', LET_IN.company, {
    autocomplete: 'organization',
    required: true,
    spellcheck: 'false',
    autocapitalize: 'off',
  });
  const choose = async () => {
    const slug = field.input.value.trim().toLowerCase();
    const { exists } = await ask<{ exists: boolean }>(`/v1/auth/validate-company?${new URLSearchParams({ slug })}`);
    if (!exists) {
      field.showProblem(LET_IN.noSuchCompany);
      field.input.focus();
      return;
    }
    goToCompany(slug);
  };
  showCard(title, [paragraph(LET_IN.companyAsked), buildForm(LET_IN.next, [field], choose)]);
  field.input.focus();
}

function goToCompany(slug: string | null): void {
  const address = new URL(location.href);
  if (slug === null) address.searchParams.delete('company_slug');
  else address.searchParams.set('company_slug', slug);
  location.assign(address);
}

/** Signs somebody in by every way that the company has, then goes on. */
export function signIn(company: Company, then: OnSignedIn, isOwner = false): void {
  if (company.sso_only && !isOwner) {
    showCard(LET_IN.signIn(company.name), [
      paragraph(LET_IN.ssoOnly),
      ...ssoWay(company, 'primary'),
      button(LET_IN.passwordInstead, () => signIn(company, then, true)),
      otherCompany(),
    ]);
    return;
  }
  const email = buildField('email', TEXTS.email, { type: 'email', autocomplete: 'username', required: true });
  const password = buildField('password', LET_IN.password, {
    type: 'password',
    autocomplete: 'current-password',
    required: true,
  });
  const identity = () => ({ company_slug: company.slug, email: email.input.value.trim() });
  const withPassword = async () =>
    continueSignIn(await ask('/v1/auth/login', { body: { ...identity(), password: password.input.value } }), then);
  const withCode = async () => {
    await ask('/v1/auth/passwordless/request', { body: identity() });
    askForCode(identity(), then);
  };
  const form = buildForm(LET_IN.signInAction, [email, password], withPassword);
  const byCode = otherWay(LET_IN.mailCode, withCode);
  const needsEmail = (event: Event) => {
    if (email.input.value.trim() !== '') return;
    event.preventDefault();
    event.stopImmediatePropagation();
    email.input.focus();
    email.showProblem(TEXTS.failures.VALIDATION_ERROR);
  };
  byCode.addEventListener('submit', needsEmail, { capture: true });
  showCard(LET_IN.signIn(company.name), [
    form,
    h('h2', { class: 'small' }, LET_IN.otherWays),
    ...passkeyWay(company, then),
    byCode,
    ...ssoWay(company, ''),
    ...socialWays(company),
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
    storeSignIn({ address: location.href, secret: begun.exchange_secret });
    location.assign(begun.url);
  };
  return [type === '' ? otherWay(LET_IN.sso, begin) : buildForm(LET_IN.sso, [], begin)];
}

/** A way besides the password, as a form of one button. */
function otherWay(action: string, begin: () => Promise<void>): HTMLFormElement {
  const form = buildForm(action, [], begin);
  form.querySelector('button')?.classList.remove('primary');
  return form;
}

/** The way to sign in by a passkey, where the browser has them and they are of this page's domain, or of one above it. */
function passkeyWay({ slug, passkey_domain: domain }: Company, then: OnSignedIn): HTMLElement[] {
  const { hostname } = location;
  const fits = domain !== null && (hostname === domain || hostname.endsWith(`.${domain}`));
  if (!fits || !('parseRequestOptionsFromJSON' in (globalThis.PublicKeyCredential ?? {}))) return [];
  const withPasskey = async () => {
    const options = await ask<PublicKeyCredentialRequestOptionsJSON>('/v1/auth/passkeys/authentication-options', {
      body: { company_slug: slug },
    });
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
    // Somebody thought better of it, or has none: browsers do not say which.
    const credential = await navigator.credentials.get({ publicKey }).catch(() => null);
    if (credential === null) throw new ApiProblem(0, 'NO_PASSKEY', LET_IN.noPasskey);
    const response = (credential as PublicKeyCredential).toJSON();
    continueSignIn(await ask('/v1/auth/passkeys/verify', { body: { company_slug: slug, response } }), then);
  };
  return [otherWay(LET_IN.passkey, withPasskey)];
}

/** Issuers that people know by another name than their host's. */
const NAMES: Readonly<Record<string, string>> = {
  'accounts.google.com': 'Google',
  'appleid.apple.com': 'Apple',
  'login.microsoftonline.com': 'Microsoft',
};

/** The ways to sign in by each provider whose ID tokens the company takes. */
function socialWays({ slug, social }: Company): HTMLElement[] {
  return social.map((issuer) => {
    const { host } = new URL(issuer);
    return otherWay(LET_IN.social(NAMES[host] ?? host), async () => {
      const { url, ...expected } = await ask<{ url: string; state: string; nonce: string }>(
        `/v1/auth/social/${encodeURIComponent(slug)}/start?${new URLSearchParams({ issuer })}`,
      );
      storeSignIn({ address: location.href, social: { slug, ...expected } });
      location.assign(url);
    });
  });
}

const storeSignIn = (kept: StoredSignIn): void => sessionStorage.setItem(STORAGE_KEY, JSON.stringify(kept));

/** Returns the data that the tab kept, and deletes it. */
function takeStoredSignIn(): StoredSignIn | null {
  const kept = JSON.parse(sessionStorage.getItem(STORAGE_KEY) ?? 'null') as StoredSignIn | null;
  sessionStorage.removeItem(STORAGE_KEY);
  return kept;
}

/** The page that the identity provider leads back to: it loads the one that goes on. */
export async function returnFromProvider(): Promise<void> {
  const kept = takeStoredSignIn();
  if (!kept) return showCard(LET_IN.badTitle, [paragraph(LET_IN.nothing)], true);
  const result = await sendSignIn(kept).catch(() => ({ failed: true }) as const);
  storeSignIn({ address: kept.address, result });
  location.replace(kept.address);
}

/** Signs in with the values that the provider's answer brought along. @throws where it is no answer to this tab's request */
async function sendSignIn({ secret, social }: StoredSignIn): Promise<SignInResult> {
  if (social) return ask('/v1/auth/social', { body: { company_slug: social.slug, social_token: tokenFor(social) } });
  const code = new URLSearchParams(location.search).get('code');
  return ask('/v1/auth/sso/exchange', { body: { code, exchange_secret: secret } });
}

/** The ID token in the address, if it was issued for this sign-in. Who issued it is for the API to say. */
function tokenFor({ state, nonce }: NonNullable<StoredSignIn['social']>): string {
  const answer = new URLSearchParams(location.hash.slice(1));
  const token = answer.get('id_token') ?? '';
  const payload = (token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/');
  const claims = JSON.parse(atob(payload)) as { nonce?: unknown };
  if (answer.get('state') !== state || claims.nonce !== nonce) throw new Error('The answer is not to this sign-in.');
  return token;
}

/** Goes on after a sign-in at a provider, if the tab has just come back from there. @returns whether it does */
export function continueAfterProvider(then: OnSignedIn): boolean {
  const kept = takeStoredSignIn();
  if (kept?.result === undefined || kept.address !== location.href) return false;
  if ('failed' in kept.result) {
    const again = button(LET_IN.next, () => location.reload(), 'primary');
    showCard(LET_IN.badTitle, [paragraph(LET_IN.ssoFailed), again], true);
  } else continueSignIn(kept.result, then);
  return true;
}

function askForCode(identity: { company_slug: string; email: string }, then: OnSignedIn): void {
  const field = buildField('code', LET_IN.code, { ...codeAttributes, inputmode: 'numeric' });
  const verify = async () =>
    continueSignIn(await ask('/v1/auth/passwordless/verify', { body: { ...identity, code: field.input.value } }), then);
  showCard(LET_IN.codeTitle, [
    paragraph(LET_IN.codeSent(identity.email)),
    buildForm(LET_IN.signInAction, [field], verify),
  ]);
  field.input.focus();
}

/** The first factor is proved: asks for the second one, has it set up, or goes on. */
function continueSignIn(result: SignInResult, then: OnSignedIn): void {
  const { token, user, pending_2fa_token: pending } = result;
  if (token !== undefined && user) then({ token, email: user.email });
  else if (pending === undefined) askForPasskey();
  else if (result.requires_2fa_setup) void setUpFactor(pending, then);
  else askForFactor(pending, then);
}

/** Tells somebody who must use their passkey to begin again: with the passkey alone they sign in. */
function askForPasskey(): void {
  const again = button(LET_IN.next, () => location.reload(), 'primary');
  showCard(LET_IN.factorTitle, [paragraph(LET_IN.passkeyAsked), again], true);
}

function askForFactor(pending: string, then: OnSignedIn): void {
  const field = buildField('code', LET_IN.code, codeAttributes);
  const finish = async () => {
    const code = field.input.value.trim();
    const sent = /^[\d\s-]+$/.test(code) && code.replaceAll(/\D/g, '').length === 6 ? 'totp_token' : 'backup_code';
    continueSignIn(await ask('/v1/auth/2fa/login', { body: { pending_2fa_token: pending, [sent]: code } }), then);
  };
  showCard(LET_IN.factorTitle, [paragraph(LET_IN.factorAsked), buildForm(LET_IN.next, [field], finish)]);
  field.input.focus();
}

async function setUpFactor(pending: string, then: OnSignedIn): Promise<void> {
  const body = { pending_2fa_token: pending };
  const made = await ask<{ secret: string; otpauth_url: string }>('/v1/auth/2fa/setup', { body });
  const field = buildField('code', LET_IN.code, { ...codeAttributes, inputmode: 'numeric' });
  const enable = async () => {
    const sent = { ...body, totp_token: field.input.value };
    const result = await ask<SignInResult & { backup_codes: string[] }>('/v1/auth/2fa/enable', { body: sent });
    showCard(
      LET_IN.backupTitle,
      [
        paragraph(LET_IN.backupText),
        h('ul', {}, ...result.backup_codes.map((code) => h('li', {}, h('code', {}, code)))),
        button(LET_IN.next, () => continueSignIn(result, then), 'primary'),
      ],
      true,
    );
  };
  showCard(LET_IN.setupTitle, [
    paragraph(LET_IN.setupAsked),
    h('dl', {}, h('dt', {}, LET_IN.setupKey), h('dd', {}, h('code', {}, made.secret))),
    h('a', { href: made.otpauth_url }, LET_IN.setupLink),
    buildForm(LET_IN.next, [field], enable),
  ]);
  field.input.focus();
}
