import { expect, it } from 'vitest';
import { type OpenApi, typesOf } from '../../client/describe-routes.ts';
import { openApi } from '../support/conformity.ts';

it('the client has the types of the present contract, as `npm run contract` writes them', async () => {
  await expect(typesOf(openApi() as OpenApi)).toMatchFileSnapshot('../../client/generated/routes.ts');
});
