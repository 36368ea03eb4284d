export { authenticateClient, authenticateGrant } from './authentication.ts';
export { purgeGrants, sendFirstUseMail } from './maintenance.ts';
