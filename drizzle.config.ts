import { defineConfig } from 'drizzle-kit';

export default defineConfig({
  dialect: 'sqlite',
  schema: './src/modules/!(audit|dead-letters|share-activity)/**/tables.ts',
  out: './drizzle',
});
