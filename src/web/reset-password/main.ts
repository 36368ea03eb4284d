import type { MailLinkView } from '../../presentation/mail-links.ts';
import { ApiProblem, callApi } from '../api.ts';
import { buildField, buildForm, buildPasswordField } from '../mail-links/form.ts';
import { forgetToken, readMailLink, takeToken } from '../mail-links/link.ts';
import {
  applyPageBranding,
  buildEmailParagraph,
  buildHiddenEmailField,
  buildParagraph,
  buildSignInGuide,
  showCard,
} from '../mail-links/page.ts';
import { LINK_TEXTS } from '../mail-links/texts.ts';
import { TEXTS as ALL } from '../texts.ts';

/**
 * This module is the script of `/reset-password`: a user with a mailed link sets a new password; without a link, the
 * page offers to mail one.
 */
const TEXTS = LINK_TEXTS.reset;

function showForm(token: string, link: MailLinkView): void {
  const field = buildPasswordField(LINK_TEXTS.newPassword);
  const confirmReset = async () => {
    try {
      await callApi('/v1/users/reset-password/confirm', { body: { token, password: field.input.value } });
    } catch (error) {
      const code = error instanceof ApiProblem ? error.code : undefined;
      if (code === 'INVALID_RESET_TOKEN') return offerLink(TEXTS.dead, TEXTS.deadWhy, true);
      if (code === 'SSO_REQUIRED') return showSignInGuide(TEXTS.ssoOnly, [], { ...link, sso_only: true }, true);
      throw error;
    }
    showSignInGuide(TEXTS.done, [buildParagraph(TEXTS.doneText)], link, true);
  };
  showCard(TEXTS.title, [
    buildEmailParagraph(link.email, TEXTS.intro(link.company.name, link.email)),
    buildForm(TEXTS.action, [field], confirmReset, buildHiddenEmailField(link)),
  ]);
  field.input.focus();
}

function showSignInGuide(title: string, leadingElements: HTMLElement[], link: MailLinkView, isAnswer: boolean): void {
  forgetToken();
  showCard(title, [...leadingElements, ...buildSignInGuide(link)], isAnswer);
}

/** Shows a form that has a password reset link mailed. */
function offerLink(title: string, reason: string, isAnswer = false): void {
  forgetToken();
  const field = buildField('email', ALL.email, {
    type: 'email',
    autocomplete: 'email',
    required: true,
    maxlength: 254,
  });
  const form = buildForm(TEXTS.requestAction, [field], async () => {
    const email = field.input.value.trim();
    await callApi('/v1/users/reset-password/request', { body: { email } });
    showCard(TEXTS.requested, [buildEmailParagraph(email, TEXTS.requestedText(email))], true);
  });
  showCard(title, [buildParagraph(reason), form], isAnswer);
}

applyPageBranding();
const token = takeToken();
const mailLink = readMailLink();
if (token && mailLink?.sso_only) showSignInGuide(TEXTS.ssoOnly, [], mailLink, false);
else if (token && mailLink) showForm(token, mailLink);
else if (token === null) offerLink(TEXTS.title, TEXTS.request);
else if (token !== undefined) offerLink(TEXTS.dead, TEXTS.deadWhy);
