import { Hono } from 'hono';
import { configOf } from './config.ts';
import { failureResponse } from './http/answer.ts';
import { cors } from './http/cors.ts';
import type { Doors } from './http/guard.ts';
import { failureOf, type HttpEnv, mount } from './http/mount.ts';
import { describe, type SurfaceEndpoints } from './http/openapi.ts';
import { limitHeaders } from './http/rate-limits.ts';
import * as console from './http/surfaces/console.ts';
import * as managedTables from './http/surfaces/managed-tables.ts';
import * as organization from './http/surfaces/organization.ts';
import * as sharing from './http/surfaces/sharing.ts';
import { unmatched } from './http/unmatched.ts';
import { Failure } from './kernel/failure.ts';
import { organizationEndpoints } from './modules/companies/organization.ts';
import { managedTablesEndpoints } from './modules/managed-tables/managed-tables.ts';
import { authenticateOperator } from './modules/companies/operator.ts';
import { signInEndpoints } from './modules/sign-in/console.ts';
import { authenticateBearer } from './modules/sign-in/service.ts';
import { platformEndpoints } from './modules/platform/organization.ts';
import { uploadEndpoints } from './modules/uploads/managed-tables.ts';
import { logError } from './platform/log.ts';

/** Every surface with its endpoints. */
export const SURFACES: SurfaceEndpoints[] = [
  { surface: organization.surface, endpoints: [...organizationEndpoints, ...platformEndpoints] },
  { surface: console.surface, endpoints: [...signInEndpoints] },
  { surface: managedTables.surface, endpoints: [...managedTablesEndpoints, ...uploadEndpoints] },
  { surface: sharing.surface, endpoints: [] },
];
