import type { MailLinkView } from '../../presentation/mail-links.ts';
import { ApiProblem, call } from '../api.ts';
import { buildField, buildForm, passwordField } from '../mail-links/form.ts';
import { forgetToken, readMailLink, takeToken } from '../mail-links/link.ts';
import {
  applyPageBranding,
  buildHiddenEmailField,
  howToSignIn,
  paragraph,
  paragraphAbout,
  showCard,
} from '../mail-links/page.ts';
import { LINK_TEXTS } from '../mail-links/texts.ts';
import { TEXTS as ALL } from '../texts.ts';

/** The page of `/reset-password`: whoever asked for its link sets a new password. Without one, it sends such a link. */
const TEXTS = LINK_TEXTS.reset;

function showForm(token: string, link: MailLinkView): void {
  const field = passwordField(LINK_TEXTS.newPassword);
  const confirm = async () => {
    try {
      await call('/v1/users/reset-password/confirm', { body: { token, password: field.input.value } });
    } catch (error) {
      const code = error instanceof ApiProblem ? error.code : undefined;
      if (code === 'INVALID_RESET_TOKEN') return offerLink(TEXTS.dead, TEXTS.deadWhy, true);
      if (code === 'SSO_REQUIRED') return showHowToSignIn(TEXTS.ssoOnly, [], { ...link, sso_only: true }, true);
      throw error;
    }
    showHowToSignIn(TEXTS.done, [paragraph(TEXTS.doneText)], link, true);
  };
  showCard(TEXTS.title, [
    paragraphAbout(link.email, TEXTS.intro(link.company.name, link.email)),
    buildForm(TEXTS.action, [field], confirm, { before: buildHiddenEmailField(link) }),
  ]);
  field.input.focus();
}

function showHowToSignIn(title: string, before: HTMLElement[], link: MailLinkView, isAnswer: boolean): void {
  forgetToken();
  showCard(title, [...before, ...howToSignIn(link)], isAnswer);
}

/** Offers to send a link. */
function offerLink(title: string, why: string, isAnswer = false): void {
  forgetToken();
  const field = buildField('email', ALL.email, {
    type: 'email',
    autocomplete: 'email',
    required: true,
    maxlength: 254,
  });
  const form = buildForm(TEXTS.requestAction, [field], async () => {
    const email = field.input.value.trim();
    await call('/v1/users/reset-password/request', { body: { email } });
    showCard(TEXTS.requested, [paragraphAbout(email, TEXTS.requestedText(email))], true);
  });
  showCard(title, [paragraph(why), form], isAnswer);
}

applyPageBranding();
const token = takeToken();
const link = readMailLink();
if (token && link?.sso_only) showHowToSignIn(TEXTS.ssoOnly, [], link, false);
else if (token && link) showForm(token, link);
else if (token === null) offerLink(TEXTS.title, TEXTS.request);
else if (token !== undefined) offerLink(TEXTS.dead, TEXTS.deadWhy);
