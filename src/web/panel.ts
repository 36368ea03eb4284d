import type { ApiProblem } from './api.ts';
import { h } from './dom.ts';
import { TEXTS } from './texts.ts';

/**
 * Builds a message about a failure, with a button to try again if that can help. It retries by itself when the server says so.
 */
export function buildProblemPanel(problem: ApiProblem | undefined, retry: () => void): HTMLElement {
  const status = problem?.status ?? 500;
  const canRetry = status === 0 || status === 429 || status >= 500;
  if (problem?.retryAfter) setTimeout(() => panel.isConnected && retry(), problem.retryAfter * 1000);
  const panel = h(
    'div',
    { class: 'panel-problem', role: 'alert' },
    h('p', {}, problem?.message ?? TEXTS.broken),
    canRetry && h('button', { type: 'button', onclick: retry }, TEXTS.retry),
  );
  return panel;
}

/** Builds a page that consists of a message. */
export const buildMessagePage = (title: string, ...content: (Node | string)[]): HTMLElement =>
  h('main', { class: 'message' }, h('div', { class: 'card' }, h('h1', {}, title), ...content));

/** Builds the placeholder of a page whose data is still loading. */
export const buildLoadingPage = (): HTMLElement =>
  h(
    'main',
    { class: 'item loading', 'aria-busy': 'true' },
    h('p', { class: 'unseen', role: 'status' }, TEXTS.loading),
    h('div', { class: 'bone head' }),
    h('div', { class: 'bones' }, h('div', { class: 'bone' }), h('div', { class: 'bone' }), h('div', { class: 'bone' })),
  );
