import type { LetInView } from '../../presentation/letting-in.ts';
import { ApiProblem } from '../api.ts';
import { h } from '../dom.ts';
import { buildField, buildForm } from '../mail-links/form.ts';
import { paragraph, showCard } from '../mail-links/page.ts';
import { TEXTS } from '../texts.ts';
import { ask, type SignedIn, type SignInResult } from './api.ts';
import { AUTHORIZATION_TEXTS } from './texts.ts';

type Company = NonNullable<LetInView['company']>;
type OnSignedIn = (signedIn: SignedIn) => void;

/** The key of the data that the tab keeps while the browser is at the identity provider. */
const STORAGE_KEY = 'let-in';

interface StoredSignIn {
  /** The address of the page at which the sign-in continues. */
  address: string;
  /** The secret that is sent with the code of single sign-on to exchange it. */
  secret?: string;
  /** The company's slug, and the `state` and `nonce` that must come with a social provider's ID token. */
  social?: { slug: string; state: string; nonce: string };
  /** The result of the sign-in at the provider. */
  result?: SignInResult | { failed: true };
}

const button = (text: string, work: () => void, type = 'quiet'): HTMLElement =>
  h('button', { type: 'button', class: type, onclick: work }, text);

const codeAttributes = { autocomplete: 'one-time-code', required: true, spellcheck: 'false', autocapitalize: 'off' };

/** Asks for the company, whose own sign-in the page is loaded with. */
export function askForCompany(title: string): void {
  const field = buildField('slug', AUTHORIZATION_TEXTS.company, {
    autocomplete: 'organization',
    required: true,
    spellcheck: 'false',
    autocapitalize: 'off',
  });
  const choose = async () => {
    const slug = field.input.value.trim().toLowerCase();
    const { exists } = await ask<{ exists: boolean }>(`/v1/auth/validate-company?${new URLSearchParams({ slug })}`);
    if (!exists) {
      field.showProblem(AUTHORIZATION_TEXTS.noSuchCompany);
      field.input.focus();
      return;
    }
    goToCompany(slug);
  };
  showCard(title, [paragraph(AUTHORIZATION_TEXTS.companyAsked), buildForm(AUTHORIZATION_TEXTS.next, [field], choose)]);
  field.input.focus();
}

function goToCompany(slug: string | null): void {
  const address = new URL(location.href);
  if (slug === null) address.searchParams.delete('company_slug');
  else address.searchParams.set('company_slug', slug);
  location.assign(address);
}

/** Shows the sign-in form with every method that the company offers; calls `then` once the user is signed in. */
export function signIn(company: Company, then: OnSignedIn, isOwner = false): void {
  if (company.sso_only && !isOwner) {
    showCard(AUTHORIZATION_TEXTS.signIn(company.name), [
      paragraph(AUTHORIZATION_TEXTS.ssoOnly),
      ...buildSsoForm(company, 'primary'),
      button(AUTHORIZATION_TEXTS.passwordInstead, () => signIn(company, then, true)),
      otherCompany(),
    ]);
    return;
  }
  const email = buildField('email', TEXTS.email, { type: 'email', autocomplete: 'username', required: true });
  const password = buildField('password', AUTHORIZATION_TEXTS.password, {
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
  const form = buildForm(AUTHORIZATION_TEXTS.signInAction, [email, password], withPassword);
  const byCode = buildOneButtonForm(AUTHORIZATION_TEXTS.mailCode, withCode);
  const needsEmail = (event: Event) => {
    if (email.input.value.trim() !== '') return;
    event.preventDefault();
    event.stopImmediatePropagation();
    email.input.focus();
    email.showProblem(TEXTS.failures.VALIDATION_ERROR);
  };
  byCode.addEventListener('submit', needsEmail, { capture: true });
  showCard(AUTHORIZATION_TEXTS.signIn(company.name), [
    form,
    h('h2', { class: 'small' }, AUTHORIZATION_TEXTS.otherWays),
    ...buildPasskeyForm(company, then),
    byCode,
    ...buildSsoForm(company, ''),
    ...buildSocialForms(company),
    otherCompany(),
  ]);
  email.input.focus();
}

const otherCompany = (): HTMLElement => button(AUTHORIZATION_TEXTS.anotherCompany, () => goToCompany(null));

function buildSsoForm(company: Company, type: string): HTMLElement[] {
  if (!company.sso) return [];
  const begin = async () => {
    const back = `${location.origin}/oauth/signed-in`;
    const begun = await ask<{ url: string; exchange_secret: string }>(
      `/v1/auth/sso/${encodeURIComponent(company.slug)}/start?${new URLSearchParams({ redirect_uri: back })}`,
    );
    storeSignIn({ address: location.href, secret: begun.exchange_secret });
    location.assign(begun.url);
  };
  return [
    type === '' ? buildOneButtonForm(AUTHORIZATION_TEXTS.sso, begin) : buildForm(AUTHORIZATION_TEXTS.sso, [], begin),
  ];
}

/** A way besides the password, as a form of one button. */
function buildOneButtonForm(action: string, begin: () => Promise<void>): HTMLFormElement {
  const form = buildForm(action, [], begin);
  form.querySelector('button')?.classList.remove('primary');
  return form;
}

/** The form to sign in by passkey, if the browser has them and the company's are for this page's domain. */
function buildPasskeyForm({ slug, passkey_domain: domain }: Company, then: OnSignedIn): HTMLElement[] {
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
    if (credential === null) throw new ApiProblem(0, 'NO_PASSKEY', AUTHORIZATION_TEXTS.noPasskey);
    const response = (credential as PublicKeyCredential).toJSON();
    continueSignIn(await ask('/v1/auth/passkeys/verify', { body: { company_slug: slug, response } }), then);
  };
  return [buildOneButtonForm(AUTHORIZATION_TEXTS.passkey, withPasskey)];
}

/** Issuers that people know by another name than their host's. */
const ISSUER_NAMES: Readonly<Record<string, string>> = {
  'accounts.google.com': 'Google',
  'appleid.apple.com': 'Apple',
  'login.microsoftonline.com': 'Microsoft',
};

/** The ways to sign in by each provider whose ID tokens the company takes. */
function buildSocialForms({ slug, social }: Company): HTMLElement[] {
  return social.map((issuer) => {
    const { host } = new URL(issuer);
    return buildOneButtonForm(AUTHORIZATION_TEXTS.social(ISSUER_NAMES[host] ?? host), async () => {
      const { url, ...expected } = await ask<{ url: string; state: string; nonce: string }>(
        `/v1/auth/social/${encodeURIComponent(slug)}/start?${new URLSearchParams({ issuer })}`,
      );
      storeSignIn({ address: location.href, social: { slug, ...expected } });
      location.assign(url);
    });
  });
}

const storeSignIn = (kept: StoredSignIn): void => sessionStorage.setItem(STORAGE_KEY, JSON.stringify(kept));

/** Returns the pending sign-in stored in this tab, and deletes it. */
function takeStoredSignIn(): StoredSignIn | null {
  const kept = JSON.parse(sessionStorage.getItem(STORAGE_KEY) ?? 'null') as StoredSignIn | null;
  sessionStorage.removeItem(STORAGE_KEY);
  return kept;
}

/** Runs on the page to which the identity provider redirects: completes the sign-in, then loads the page that continues. */
export async function returnFromProvider(): Promise<void> {
  const kept = takeStoredSignIn();
  if (!kept) return showCard(AUTHORIZATION_TEXTS.badTitle, [paragraph(AUTHORIZATION_TEXTS.nothing)], true);
  const result = await sendSignIn(kept).catch(() => ({ failed: true }) as const);
  storeSignIn({ address: kept.address, result });
  location.replace(kept.address);
}

/** Signs in with the values in the provider's redirect. @throws if they are not for this tab's request */
async function sendSignIn({ secret, social }: StoredSignIn): Promise<SignInResult> {
  if (social) return ask('/v1/auth/social', { body: { company_slug: social.slug, social_token: tokenFor(social) } });
  const code = new URLSearchParams(location.search).get('code');
  return ask('/v1/auth/sso/exchange', { body: { code, exchange_secret: secret } });
}

/** The ID token in the address, whose issuer the API verifies. @throws for another `state` or `nonce` */
function tokenFor({ state, nonce }: NonNullable<StoredSignIn['social']>): string {
  const answer = new URLSearchParams(location.hash.slice(1));
  const token = answer.get('id_token') ?? '';
  const payload = (token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/');
  const claims = JSON.parse(atob(payload)) as { nonce?: unknown };
  if (answer.get('state') !== state || claims.nonce !== nonce) throw new Error('The answer is not to this sign-in.');
  return token;
}

/** Continues a sign-in that has just returned from a provider. @returns whether there was one */
export function continueAfterProvider(then: OnSignedIn): boolean {
  const kept = takeStoredSignIn();
  if (kept?.result === undefined || kept.address !== location.href) return false;
  if ('failed' in kept.result) {
    const again = button(AUTHORIZATION_TEXTS.next, () => location.reload(), 'primary');
    showCard(AUTHORIZATION_TEXTS.badTitle, [paragraph(AUTHORIZATION_TEXTS.ssoFailed), again], true);
  } else continueSignIn(kept.result, then);
  return true;
}

function askForCode(identity: { company_slug: string; email: string }, then: OnSignedIn): void {
  const field = buildField('code', AUTHORIZATION_TEXTS.code, { ...codeAttributes, inputmode: 'numeric' });
  const verify = async () =>
    continueSignIn(await ask('/v1/auth/passwordless/verify', { body: { ...identity, code: field.input.value } }), then);
  showCard(AUTHORIZATION_TEXTS.codeTitle, [
    paragraph(AUTHORIZATION_TEXTS.codeSent(identity.email)),
    buildForm(AUTHORIZATION_TEXTS.signInAction, [field], verify),
  ]);
  field.input.focus();
}

/** Continues after the first factor: asks for the second one, has it set up, or finishes the sign-in. */
function continueSignIn(result: SignInResult, then: OnSignedIn): void {
  const { token, user, pending_2fa_token: pending } = result;
  if (token !== undefined && user) then({ token, email: user.email });
  else if (pending === undefined) askForPasskey();
  else if (result.requires_2fa_setup) void setUpFactor(pending, then);
  else askForFactor(pending, then);
}

/** Asks a user whose second factor is a passkey to start over: the passkey alone signs them in. */
function askForPasskey(): void {
  const again = button(AUTHORIZATION_TEXTS.next, () => location.reload(), 'primary');
  showCard(AUTHORIZATION_TEXTS.factorTitle, [paragraph(AUTHORIZATION_TEXTS.passkeyAsked), again], true);
}

function askForFactor(pending: string, then: OnSignedIn): void {
  const field = buildField('code', AUTHORIZATION_TEXTS.code, codeAttributes);
  const finish = async () => {
    const code = field.input.value.trim();
    const sent = /^[\d\s-]+$/.test(code) && code.replaceAll(/\D/g, '').length === 6 ? 'totp_token' : 'backup_code';
    continueSignIn(await ask('/v1/auth/2fa/login', { body: { pending_2fa_token: pending, [sent]: code } }), then);
  };
  showCard(AUTHORIZATION_TEXTS.factorTitle, [
    paragraph(AUTHORIZATION_TEXTS.factorAsked),
    buildForm(AUTHORIZATION_TEXTS.next, [field], finish),
  ]);
  field.input.focus();
}

async function setUpFactor(pending: string, then: OnSignedIn): Promise<void> {
  const body = { pending_2fa_token: pending };
  const made = await ask<{ secret: string; otpauth_url: string }>('/v1/auth/2fa/setup', { body });
  const field = buildField('code', AUTHORIZATION_TEXTS.code, { ...codeAttributes, inputmode: 'numeric' });
  const enable = async () => {
    const sent = { ...body, totp_token: field.input.value };
    const result = await ask<SignInResult & { backup_codes: string[] }>('/v1/auth/2fa/enable', { body: sent });
    showCard(
      AUTHORIZATION_TEXTS.backupTitle,
      [
        paragraph(AUTHORIZATION_TEXTS.backupText),
        h('ul', {}, ...result.backup_codes.map((code) => h('li', {}, h('code', {}, code)))),
        button(AUTHORIZATION_TEXTS.next, () => continueSignIn(result, then), 'primary'),
      ],
      true,
    );
  };
  showCard(AUTHORIZATION_TEXTS.setupTitle, [
    paragraph(AUTHORIZATION_TEXTS.setupAsked),
    h('dl', {}, h('dt', {}, AUTHORIZATION_TEXTS.setupKey), h('dd', {}, h('code', {}, made.secret))),
    h('a', { href: made.otpauth_url }, AUTHORIZATION_TEXTS.setupLink),
    buildForm(AUTHORIZATION_TEXTS.next, [field], enable),
  ]);
  field.input.focus();
}
