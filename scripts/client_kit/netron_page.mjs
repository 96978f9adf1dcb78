// Opens netron's page in a browser without a window, waits for the graph, prints how many nodes were drawn.
// usage: node netron_page.mjs BROWSER URL NODE_MODULES
import { createRequire } from 'node:module';

const [browserPath, url, modules] = process.argv.slice(2);
const { chromium } = createRequire(`${modules}/`)('playwright-core');
const browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox'] });
try {
    const page = await browser.newPage();
    await page.goto(url);
    const accept = page.locator('#message-button');
    await Promise.race([accept.waitFor({ timeout: 20000 }), page.waitForSelector('.node', { timeout: 20000 })]);
    if (await accept.isVisible()) await accept.click();
    await page.waitForSelector('.node', { timeout: 200000 });
    console.log(await page.locator('.node').count());
} finally {
    await browser.close();
}
