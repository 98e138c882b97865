/** The agent of `deployer.ts`, as a module that a server loads. */

import { deployer } from "../deployer.ts";

export default deployer(process.env.BRIDLE_TEST_DEPLOYS ?? "");
