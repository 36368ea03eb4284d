import { unknownRoute } from '../../access/failures.ts';
import type { AuthenticateOperator } from '../../context.ts';
import { sameSecret } from '../../platform/secrets.ts';
import { wrongOperatorToken } from './failures.ts';

/** Checks the operator's token. Without one configured the operator's routes do not exist. */
export const authenticateOperator: AuthenticateOperator = async (ctx, request) => {
  const expected = ctx.config.PLATFORM_ADMIN_TOKEN;
  if (expected === undefined) throw unknownRoute();
  const sent = /^Bearer +(\S+)$/i.exec(request.header('authorization') ?? '')?.[1];
  if (sent === undefined || !(await sameSecret(sent, expected))) throw wrongOperatorToken();
};
