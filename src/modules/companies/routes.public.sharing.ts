import { raw } from '../../http/endpoint.ts';
import { endpoint } from '../../http/surfaces/sharing.ts';
import { logoNotFound } from './failures.ts';
import { readLogo } from './logos.ts';

export const logoEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/api/v1/public/logos/{company_id}/{logo_id}',
      access: 'public',
      operationId: 'getLogo',
      summary: 'Get a logo',
      description: 'Pages show it. A new logo has a new address.',
      returns: raw(200, 'The picture.', 'image/png', 'image/jpeg', 'image/webp'),
      fails: [logoNotFound],
    },
    async ({ ctx, params }) => {
      const { body, size, httpMetadata } = await readLogo(ctx, params.company_id, params.logo_id);
      return new Response(body, {
        headers: {
          'Content-Type': httpMetadata?.contentType ?? 'application/octet-stream',
          'Content-Length': String(size),
          'Content-Security-Policy': "default-src 'none'; sandbox",
          'X-Content-Type-Options': 'nosniff',
          'Cache-Control': 'public, max-age=31536000, immutable',
        },
      });
    },
  ),
];
