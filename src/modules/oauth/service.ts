export { authenticateClient, authenticateGrant } from './authentication.ts';
export { mailLetIn, purgeGrants } from './maintenance.ts';
