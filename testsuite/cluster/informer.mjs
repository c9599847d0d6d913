// SPDX-License-Identifier: Apache-2.0
// informer.mjs - an informer over the ConfigMaps of namespace "watched", by
// @kubernetes/client-node in the folder $KILN_NODE_MODULES
//
// Reads $KUBECONFIG. Prints a line for each event: "ADDED name",
// "MODIFIED name", "DELETED name", "lost" when the connection ends. The informer
// is then started again, as its documentation says.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const from = createRequire(`${process.env.KILN_NODE_MODULES}/informer.mjs`);
const k8s = await import(
    pathToFileURL(from.resolve('@kubernetes/client-node')));
if (process.argv.includes('--check'))
    process.exit(0); // it can be loaded

const config = new k8s.KubeConfig();
config.loadFromDefault();
const api = config.makeApiClient(k8s.CoreV1Api);
const informer = k8s.makeInformer(
    config, '/api/v1/namespaces/watched/configmaps',
    () => api.listNamespacedConfigMap({ namespace: 'watched' }));

const tell = (type) => (object) => console.log(type, object.metadata.name);
informer.on('add', tell('ADDED'));
informer.on('update', tell('MODIFIED'));
informer.on('delete', tell('DELETED'));

const start = () => informer.start().catch(again);
function again(error) {
    console.log('lost', String(error?.code ?? error));
    setTimeout(start, 200);
}
informer.on('error', again);
start();
