import { readComponentResponse, redirectToComponent } from '../../http/component.ts';
import { raw } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/sharing.ts';
import { defineFailure } from '../../kernel/failure.ts';

const componentNotFound = defineFailure('pages.component_not_found', 'missing', {
  message: 'There is no such script.',
});

/** The endpoints of the component that shows embeds in other sites' pages. */
export const componentEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/embed.js',
      access: 'public',
      operationId: 'getEmbedComponent',
      summary: 'Get the script of `<data-console-embed>`',
      description:
        'A JavaScript module that defines the element, for `type="module"`. Redirects to the current version; each version has a URL of its own.',
      returns: raw(302, 'Redirect to the current version.'),
      openQuery: true,
      fails: [],
    },
    ({ ctx }) => redirectToComponent(ctx.bindings.PAGES),
  ),
  endpoint(
    {
      method: 'get',
      path: '/embed/{script}',
      access: 'public',
      operationId: 'getEmbedComponentVersion',
      summary: 'Get a version of the script of `<data-console-embed>`',
      description: 'Returns the current version if the requested one no longer exists.',
      returns: raw(200, 'The script.', 'text/javascript'),
      openQuery: true,
      fails: [componentNotFound],
    },
    async ({ ctx, params }) => {
      const script = await readComponentResponse(ctx.bindings.PAGES, params.script);
      if (!script) throw componentNotFound();
      return script;
    },
  ),
];
