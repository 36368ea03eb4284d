import type { Context } from '../../context.ts';

/** A page of the console that takes a one-time token, as links in mails name it. */
export function consoleLink(ctx: Context, page: 'accept-invitation' | 'reset-password', token: string): string {
  return `${ctx.config.CONSOLE_URL.replace(/\/+$/, '')}/${page}?token=${encodeURIComponent(token)}`;
}
