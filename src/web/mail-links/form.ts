import { ApiProblem } from '../api.ts';
import { h, uniqueId } from '../dom.ts';
import { TEXTS } from '../texts.ts';
import { LINK_TEXTS } from './texts.ts';

/** A field of a form, which shows the API's problem with its value beside it. */
export interface Field {
  /** The field's name in the API's request body. */
  name: string;
  input: HTMLInputElement;
  element: HTMLElement;
  /** Shows a message beside the field; an empty one removes it. */
  showProblem(message: string): void;
}

/** A field with its label. @param more a hint, shown before anything is wrong, and an element beside the input */
export function buildField(
  name: string,
  label: string,
  attributes: Parameters<typeof h>[1],
  { hint, beside }: { hint?: string; beside?: (input: HTMLInputElement) => HTMLElement } = {},
): Field {
  const [id, hintId, errorId] = [uniqueId('field'), uniqueId('hint'), uniqueId('error')];
  const describedBy = hint === undefined ? errorId : `${errorId} ${hintId}`;
  const input = h('input', { id, 'aria-describedby': describedBy, oninput: () => showProblem(''), ...attributes });
  const error = h('p', { class: 'error', id: errorId });
  function showProblem(message: string): void {
    error.textContent = message;
    if (message === '') input.removeAttribute('aria-invalid');
    else input.setAttribute('aria-invalid', 'true');
  }
  const box = beside ? h('div', { class: 'beside' }, input, beside(input)) : input;
  const element = h(
    'div',
    { class: 'field' },
    h('label', { for: id }, label),
    hint !== undefined && h('p', { class: 'hint', id: hintId }, hint),
    box,
    error,
  );
  return { name, input, element, showProblem };
}

/** A field for a password that is chosen, which can be shown. */
export function passwordField(label: string): Field {
  const toggle = (input: HTMLInputElement) => {
    const button = h('button', { type: 'button', class: 'quiet', onclick: () => show(input.type === 'password') });
    function show(isShown: boolean): void {
      input.type = isShown ? 'text' : 'password';
      button.textContent = isShown ? LINK_TEXTS.hide : LINK_TEXTS.show;
      button.setAttribute('aria-label', isShown ? LINK_TEXTS.hidePassword : LINK_TEXTS.showPassword);
    }
    show(false);
    return button;
  };
  const attributes = { autocomplete: 'new-password', required: true, autocapitalize: 'off', spellcheck: 'false' };
  return buildField('password', label, attributes, { hint: LINK_TEXTS.passwordRules, beside: toggle });
}

/** The elements of a form besides its fields. */
interface FormExtras {
  before?: HTMLElement;
}

/**
 * A form whose values the API validates. Problems are shown beside their fields, the first of which gets the focus; any other
 * failure is shown below. The form cannot be submitted twice at once.
 * @param submit may handle failures itself
 */
export function buildForm(
  action: string,
  fields: readonly Field[],
  submit: () => Promise<void>,
  { before }: FormExtras = {},
): HTMLFormElement {
  const alert = h('p', { role: 'alert' });
  const button = h('button', { type: 'submit', class: 'primary' }, action);
  const elements = fields.map(({ element }) => element);
  const form = h('form', { novalidate: true, onsubmit: send }, before, ...elements, alert, button);

  async function send(event: Event): Promise<void> {
    event.preventDefault();
    if (button.disabled) return;
    for (const field of fields) field.showProblem('');
    alert.textContent = '';
    work(true);
    const failure = await submit().then(
      () => undefined,
      (error: unknown) => error,
    );
    work(false);
    if (failure !== undefined) explain(failure);
  }

  function work(isAtWork: boolean): void {
    button.disabled = isAtWork;
    button.textContent = isAtWork ? LINK_TEXTS.sending : action;
    form.setAttribute('aria-busy', String(isAtWork));
  }

  function explain(failure: unknown): void {
    const problem = failure instanceof ApiProblem ? failure : undefined;
    const wrong = fields.filter(({ name }) => problem?.details.some(({ field }) => field === name));
    for (const field of wrong) {
      const [first] = problem?.details.filter((detail) => detail.field === field.name) ?? [];
      field.showProblem(asSentence(first?.message ?? TEXTS.failures.VALIDATION_ERROR));
    }
    wrong[0]?.input.focus();
    // Beside the fields it is seen anyway.
    alert.className = wrong.length > 0 ? 'unseen' : 'error';
    alert.textContent = wrong.length > 0 ? LINK_TEXTS.checkFields : (problem?.message ?? TEXTS.broken);
    if (!problem) throw failure;
  }

  return form;
}

/** Makes a sentence of the API's message about a field, which begins with a verb: `must have …`. */
function asSentence(text: string): string {
  const sentence = text.charAt(0).toLocaleUpperCase() + text.slice(1);
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
}
