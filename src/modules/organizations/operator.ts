import type { AuthenticateOperator } from '../../context.ts';
import { Failure } from '../../kernel/failure.ts';
import { sameSecret } from '../../platform/secrets.ts';

/** Checks the operator's token. Without one configured the operator's routes do not exist. */
export const authenticateOperator: AuthenticateOperator = async (ctx, request) => {
  const expected = ctx.config.PLATFORM_ADMIN_TOKEN;
  if (expected === undefined) throw new Failure('missing', 'request.unknown_route');
  const sent = /^Bearer +(\S+)$/i.exec(request.header('authorization') ?? '')?.[1];
  if (sent === undefined || !(await sameSecret(sent, expected))) {
    throw new Failure('unauthenticated', 'operator.wrong_token', {
      message: 'This needs the platform operator’s token.',
    });
  }
};
