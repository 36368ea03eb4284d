import type { Context } from '../../context.ts';

export { mailNotice, prepareNotices, prepareNoticesToAdministrators } from './notices.ts';
export * from './requests.ts';
export * from './texts.ts';

/** The address of a page of the console that takes a one-time token. */
export function consoleLink(ctx: Context, page: 'accept-invitation' | 'reset-password', token: string): string {
  return `${ctx.config.CONSOLE_URL.replace(/\/+$/, '')}/${page}?token=${encodeURIComponent(token)}`;
}
