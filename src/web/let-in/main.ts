import type { AskedView, LetInView } from '../../presentation/letting-in.ts';
import { h } from '../dom.ts';
import { buildField, buildForm } from '../mail-links/form.ts';
import { applyPageBranding, paragraph, showCard } from '../mail-links/page.ts';
import { ask, type SignedIn } from './api.ts';
import { askForCompany, continueAfterProvider, returnFromProvider, signIn } from './sign-in.ts';
import { LET_IN } from './texts.ts';

/** The page of `/oauth/authorize` and `/oauth/device`: the user signs in, and grants or denies a client's request. */
const view = JSON.parse(document.getElementById('told')?.textContent ?? 'null') as LetInView;

function askForDevice(signedIn: SignedIn): void {
  const field = buildField('user_code', LET_IN.deviceCode, {
    autocomplete: 'off',
    required: true,
    spellcheck: 'false',
    autocapitalize: 'characters',
    value: view.user_code ?? '',
  });
  const find = async () =>
    askForConsent(
      await ask<AskedView>('/v1/oauth-devices', { body: { user_code: field.input.value }, token: signedIn.token }),
      signedIn,
    );
  showCard(LET_IN.deviceTitle, [paragraph(LET_IN.deviceAsked), buildForm(LET_IN.next, [field], find)]);
  field.input.focus();
}

function askForConsent(asked: AskedView, { token, email }: SignedIn): void {
  const { client, scopes, only_reads: onlyReads, resource, request } = asked;
  const company = view.company?.name ?? '';
  const answer = (allow: boolean) => async () => {
    const { redirect_to: redirectTo } = await ask<{ redirect_to: string | null }>('/v1/oauth-grants', {
      body: { request, allow },
      token,
    });
    // The session was for this answer alone. The page may be gone before that is answered.
    await ask('/v1/auth/logout', { body: {}, token }).catch(() => {});
    const [title, text] = allow ? [LET_IN.doneTitle, LET_IN.done] : [LET_IN.deniedTitle, LET_IN.denied];
    showCard(title, [paragraph(redirectTo === null ? text : LET_IN.going)], true);
    if (redirectTo !== null) location.replace(redirectTo);
  };
  const refuse = buildForm(LET_IN.deny, [], answer(false));
  refuse.querySelector('button')?.classList.remove('primary');
  showCard(
    LET_IN.consentTitle(client.name),
    [
      paragraph(LET_IN.signedInAs(email, company)),
      client.is_registered
        ? paragraph(LET_IN.registered(company))
        : paragraph(client.host === null ? LET_IN.unknownHost : LET_IN.fromHost(client.host)),
      !client.is_registered && h('p', { class: 'warning', role: 'note' }, LET_IN.warning),
      paragraph(LET_IN.may),
      h('ul', { class: 'scopes' }, ...scopes.map((scope) => h('li', {}, h('code', {}, scope)))),
      paragraph(
        [onlyReads ? LET_IN.onlyReads : LET_IN.changes, resource === 'mcp' ? LET_IN.tools : ''].join(' ').trim(),
      ),
      paragraph(LET_IN.howLong, 'small'),
      buildForm(LET_IN.allow, [], answer(true)),
      refuse,
    ],
    true,
  );
}

const continueWith = (signedIn: SignedIn): void => {
  if (view.asked) askForConsent(view.asked, signedIn);
  else askForDevice(signedIn);
};

function begin(): void {
  const title = view.asked ? LET_IN.wants(view.asked.client.name) : LET_IN.deviceTitle;
  if (view.problem !== null) {
    const why = view.problem === 'client' ? LET_IN.badClient : LET_IN.badRedirect;
    showCard(LET_IN.badTitle, [paragraph(why), paragraph(LET_IN.nothing)], true);
  } else if (view.company === null) askForCompany(title);
  else if (!continueAfterProvider(continueWith)) signIn(view.company, continueWith);
}

applyPageBranding();
if (location.pathname.endsWith('/signed-in')) void returnFromProvider();
else begin();
