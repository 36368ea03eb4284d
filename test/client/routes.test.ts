import { expect, it } from 'vitest';
import { describeTypes, type OpenApi } from '../../client/describe-routes.ts';
import { readApiDescription } from '../support/conformity.ts';

it('the client has the types of the current contract, as `npm run contract` writes them', async () => {
  await expect(describeTypes(readApiDescription() as OpenApi)).toMatchFileSnapshot('../../client/generated/routes.ts');
});
