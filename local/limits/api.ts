/** The Worker that answers requests, as `npm start` runs it: `src/api.ts` under the platform's limits. */
import './enforce.ts';
import * as product from '../../src/api.ts';
import { limitHandlers } from './invocation.ts';
import { limitObject } from './objects.ts';

export { Variables } from '../../src/api.ts';

export const AttemptLimiter = limitObject(product.AttemptLimiter);
export const CompanyLog = limitObject(product.CompanyLog);
export const IpLimiter = limitObject(product.IpLimiter);
export const OrganizationGate = limitObject(product.OrganizationGate);
export const TokenLimiter = limitObject(product.TokenLimiter);
export const ViewerGate = limitObject(product.ViewerGate);
export const WebhookSender = limitObject(product.WebhookSender);

export default limitHandlers(product.default);
