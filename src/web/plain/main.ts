import '../styles/main.css';
import { applyBranding, buildLogo, readPageBranding } from '../branding/apply.ts';
import { followScheme } from '../theme.ts';

/**
 * This module is the script of pages that the server renders completely: it only applies the brand, and the pages work
 * without it.
 */
const branding = readPageBranding();
applyBranding(branding);
followScheme(() => {});

const logo = buildLogo(branding);
if (logo) document.querySelector('.card')?.prepend(logo);
