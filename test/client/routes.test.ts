import { expect, it } from 'vitest';
import { type OpenApi, typesOf } from '../../client/describe-routes.ts';
import { openApi } from '../support/conformity.ts';

it('has the types of the contract as it is now: `npm run contract` writes them', async () => {
  await expect(typesOf(openApi() as OpenApi)).toMatchFileSnapshot('../../client/routes.ts');
});
