"""The classes known from attacks on deserialization, which class_notes.py reports and nothing loads.

A receiver that reads such a class with Hessian's Java library may run code of the sender's choice: when
fields are set, when a map or set puts the object in (hashCode, equals, compareTo), or when something
prints it (toString). So may one that makes such classes from their names, in generic calls or from JSON.

Sources: marshalsec, ysoserial; the classes that hessian-lite, jackson-databind and fastjson refuse, except
those that ordinary traffic has.
"""

from typing import Final

_LOOKUP: Final = "looks up a JNDI name that the sender chooses"
_GETTERS: Final = "calls every getter of the object inside it"
_BYTECODE: Final = "holds the bytecode of a class that it loads"
_METHOD: Final = "calls a method that the sender names"
_SPRING: Final = "gets a bean from a bean factory when it is compared"
_LOADER: Final = "loads a class that the sender names"
_LAZY: Final = "makes a lazy value by a method call that the sender names"
_COMMAND: Final = "starts a command that the sender names"
_REMOTE: Final = "calls, or listens for, remote objects of the sender"
_SOURCE: Final = "opens a database connection to a server that the sender chooses"
_SCRIPT: Final = "runs code that the sender supplies"
_FILE: Final = "writes a file at a path that the sender chooses"
_TRIGGER: Final = "calls equals, compareTo, hashCode or toString of an object that the sender supplies"
_SECOND: Final = "holds a second serialized object that it unpacks"
_FETCH: Final = "reads a document from an address that the sender chooses"

# Whole names.
GADGETS: Final[dict[str, str]] = {
    # the Java platform
    "com.sun.jndi.ldap.LdapAttribute": _LOOKUP,
    "com.sun.org.apache.bcel.internal.util.ClassLoader": _BYTECODE,
    "com.sun.org.apache.bcel.internal.util.JavaWrapper": _BYTECODE,
    "com.sun.org.apache.xalan.internal.xsltc.trax.TemplatesImpl": _BYTECODE,
    "com.sun.org.apache.xalan.internal.xsltc.trax.TrAXFilter": _BYTECODE,
    "com.sun.org.apache.xpath.internal.objects.XString": _TRIGGER,
    "com.sun.org.apache.xpath.internal.objects.XStringForFSB": _TRIGGER,
    "com.sun.rowset.JdbcRowSetImpl": _LOOKUP,
    "com.sun.xml.internal.bind.v2.runtime.unmarshaller.Base64Data": _TRIGGER,
    "com.sun.xml.internal.ws.util.ServiceFinder$LazyIterator": _LOADER,
    "java.beans.EventHandler": _METHOD,
    "java.beans.Expression": _METHOD,
    "java.beans.Statement": _METHOD,
    "java.lang.ProcessBuilder": _COMMAND,
    "java.lang.ProcessImpl": _COMMAND,
    "java.lang.UNIXProcess": _COMMAND,
    "java.lang.reflect.Constructor": _METHOD,
    "java.lang.reflect.Method": _METHOD,
    "java.net.URLClassLoader": _LOADER,
    "java.rmi.MarshalledObject": _SECOND,
    "java.rmi.server.RemoteObjectInvocationHandler": _REMOTE,
    "java.rmi.server.UnicastRemoteObject": _REMOTE,
    "java.security.SignedObject": _SECOND,
    "java.util.ServiceLoader$LazyIterator": _LOADER,
    "javax.activation.MimeTypeParameterList": _LAZY,
    "javax.crypto.SealedObject": _SECOND,
    "javax.imageio.ImageIO$ContainsFilter": _METHOD,
    "javax.imageio.spi.FilterIterator": _METHOD,
    "javax.imageio.spi.ServiceRegistry": _LOADER,
    "javax.management.BadAttributeValueExpException": _TRIGGER,
    "javax.management.ImmutableDescriptor": _TRIGGER,
    "javax.management.loading.MLet": _LOADER,
    "javax.management.remote.rmi.RMIConnector": _SECOND,
    "javax.script.ScriptEngineManager": _LOADER,
    "javax.swing.MultiUIDefaults": _LAZY,
    "javax.swing.UIDefaults": _LAZY,
    "javax.swing.UIDefaults$ProxyLazyValue": _LAZY,
    "javax.swing.UIDefaults$TextAndMnemonicHashMap": _TRIGGER,
    "sun.print.UnixPrintService": _COMMAND,
    "sun.print.UnixPrintServiceLookup": _COMMAND,
    "sun.reflect.annotation.AnnotationInvocationHandler": _TRIGGER,
    "sun.reflect.misc.MethodUtil": _METHOD,
    "sun.security.pkcs.PKCS9Attribute": _TRIGGER,
    "sun.security.pkcs.PKCS9Attributes": _TRIGGER,
    "sun.swing.SwingLazyValue": _LAZY,
    # Resin
    "com.caucho.config.types.ResourceRef": _LOOKUP,
    "com.caucho.naming.QName": _LOOKUP,
    # Spring
    "org.springframework.aop.aspectj.AspectJAroundAdvice": _SPRING,
    "org.springframework.aop.aspectj.AspectJPointcutAdvisor": _SPRING,
    "org.springframework.aop.aspectj.annotation.BeanFactoryAspectInstanceFactory": _SPRING,
    "org.springframework.aop.aspectj.autoproxy.AspectJAwareAdvisorAutoProxyCreator$"
    "PartiallyComparableAdvisorHolder": _SPRING,
    "org.springframework.aop.framework.AdvisedSupport": _METHOD,
    "org.springframework.aop.framework.JdkDynamicAopProxy": _METHOD,
    "org.springframework.aop.support.AbstractBeanFactoryPointcutAdvisor": _SPRING,
    "org.springframework.aop.support.DefaultBeanFactoryPointcutAdvisor": _SPRING,
    "org.springframework.aop.target.HotSwappableTargetSource": _TRIGGER,
    "org.springframework.aop.target.SimpleBeanTargetSource": _SPRING,
    "org.springframework.beans.factory.config.MethodInvokingFactoryBean": _METHOD,
    "org.springframework.beans.factory.config.PropertyPathFactoryBean": _SPRING,
    "org.springframework.beans.factory.support.DefaultListableBeanFactory": _SPRING,
    "org.springframework.context.support.ClassPathXmlApplicationContext": _SCRIPT,
    "org.springframework.context.support.FileSystemXmlApplicationContext": _SCRIPT,
    "org.springframework.core.SerializableTypeWrapper$MethodInvokeTypeProvider": _METHOD,
    "org.springframework.jndi.JndiObjectTargetSource": _LOOKUP,
    "org.springframework.jndi.support.SimpleJndiBeanFactory": _LOOKUP,
    "org.springframework.transaction.jta.JtaTransactionManager": _LOOKUP,
    "org.springframework.util.MethodInvoker": _METHOD,
    # other libraries
    "bsh.Interpreter": _SCRIPT,
    "bsh.XThis": _SCRIPT,
    "ch.qos.logback.core.db.DriverManagerConnectionSource": _SOURCE,
    "ch.qos.logback.core.db.JNDIConnectionSource": _LOOKUP,
    "clojure.core$constantly": _METHOD,
    "clojure.main$eval_opt": _SCRIPT,
    "com.alibaba.druid.pool.DruidDataSource": _SOURCE,
    "com.alibaba.druid.pool.xa.DruidXADataSource": _SOURCE,
    "com.ibatis.sqlmap.engine.transaction.jta.JtaTransactionConfig": _LOOKUP,
    "com.mysql.cj.jdbc.MysqlDataSource": _SOURCE,
    "com.mysql.cj.jdbc.admin.MiniAdmin": _SOURCE,
    "com.vaadin.data.util.NestedMethodProperty": _GETTERS,
    "com.vaadin.data.util.PropertysetItem": _TRIGGER,
    "com.zaxxer.hikari.HikariConfig": _LOOKUP,
    "com.zaxxer.hikari.HikariDataSource": _LOOKUP,
    "groovy.util.Expando": _METHOD,
    "net.bytebuddy.dynamic.loading.ByteArrayClassLoader": _BYTECODE,
    "net.sf.json.JSONObject": _GETTERS,
    "oracle.jdbc.connector.OracleManagedConnectionFactory": _LOOKUP,
    "oracle.jdbc.rowset.OracleJDBCRowSet": _LOOKUP,
    "org.apache.commons.beanutils.BeanComparator": _GETTERS,
    "org.apache.commons.beanutils.BeanMap": _GETTERS,
    "org.apache.commons.collections.comparators.TransformingComparator": _METHOD,
    "org.apache.commons.collections.keyvalue.TiedMapEntry": _TRIGGER,
    "org.apache.commons.collections.map.DefaultedMap": _METHOD,
    "org.apache.commons.collections.map.LazyMap": _METHOD,
    "org.apache.commons.collections4.comparators.TransformingComparator": _METHOD,
    "org.apache.commons.collections4.keyvalue.TiedMapEntry": _TRIGGER,
    "org.apache.commons.collections4.map.DefaultedMap": _METHOD,
    "org.apache.commons.collections4.map.LazyMap": _METHOD,
    "org.apache.commons.configuration.ConfigurationMap": _LOOKUP,
    "org.apache.commons.configuration.JNDIConfiguration": _LOOKUP,
    "org.apache.commons.configuration2.ConfigurationMap": _LOOKUP,
    "org.apache.commons.configuration2.JNDIConfiguration": _LOOKUP,
    "org.apache.commons.dbcp.BasicDataSource": _SOURCE,
    "org.apache.commons.dbcp.datasources.SharedPoolDataSource": _LOOKUP,
    "org.apache.commons.dbcp2.BasicDataSource": _SOURCE,
    "org.apache.commons.dbcp2.datasources.SharedPoolDataSource": _LOOKUP,
    "org.apache.commons.fileupload.disk.DiskFileItem": _FILE,
    "org.apache.ibatis.datasource.jndi.JndiDataSourceFactory": _LOOKUP,
    "org.apache.ibatis.executor.loader.AbstractSerialStateHolder": _SECOND,
    "org.apache.ibatis.executor.loader.CglibSerialStateHolder": _SECOND,
    "org.apache.ibatis.executor.loader.JavassistSerialStateHolder": _SECOND,
    "org.apache.myfaces.view.facelets.el.ValueExpressionMethodExpression": _SCRIPT,
    "org.apache.shiro.jndi.JndiObjectFactory": _LOOKUP,
    "org.apache.tomcat.dbcp.dbcp.BasicDataSource": _SOURCE,
    "org.apache.tomcat.dbcp.dbcp2.BasicDataSource": _SOURCE,
    "org.apache.wicket.util.upload.DiskFileItem": _FILE,
    "org.apache.xpath.objects.XString": _TRIGGER,
    "org.geotools.filter.ConstantExpression": _TRIGGER,
    "org.h2.jdbcx.JdbcDataSource": _SOURCE,
    "org.hibernate.engine.spi.TypedValue": _TRIGGER,
    "org.hibernate.property.BasicPropertyAccessor$BasicGetter": _GETTERS,
    "org.hibernate.tuple.component.PojoComponentTuplizer": _GETTERS,
    "org.hibernate.type.ComponentType": _TRIGGER,
    "org.mozilla.javascript.MemberBox": _METHOD,
    "org.mozilla.javascript.NativeError": _METHOD,
    "org.mozilla.javascript.NativeJavaObject": _METHOD,
    "org.postgresql.ds.PGSimpleDataSource": _SOURCE,
    "org.python.core.PyFunction": _SCRIPT,
    # refused by jackson-databind, fastjson, hessian-lite
    "br.com.anteros.dbcp.AnterosDBCPConfig": _LOOKUP,
    "br.com.anteros.dbcp.AnterosDBCPDataSource": _LOOKUP,
    "com.mysql.cj.jdbc.MysqlXADataSource": _SOURCE,
    "com.mysql.jdbc.jdbc2.optional.MysqlDataSource": _SOURCE,
    "com.newrelic.agent.deps.ch.qos.logback.core.db.DriverManagerConnectionSource": _SOURCE,
    "com.newrelic.agent.deps.ch.qos.logback.core.db.JNDIConnectionSource": _LOOKUP,
    "com.nqadmin.rowset.JdbcRowSetImpl": _LOOKUP,
    "com.oracle.wls.shaded.org.apache.xalan.lib.sql.JNDIConnectionPool": _LOOKUP,
    "com.p6spy.engine.spy.P6DataSource": _LOOKUP,
    "com.pastdev.httpcomponents.configuration.JndiConfiguration": _LOOKUP,
    "com.sun.deploy.security.ruleset.DRSHelper": _COMMAND,
    "com.sun.org.apache.xalan.internal.lib.sql.JNDIConnectionPool": _LOOKUP,
    "flex.messaging.util.concurrent.AsynchBeansWorkManagerExecutor": _LOOKUP,
    "groovy.lang.GroovyClassLoader": _SCRIPT,
    "groovy.lang.GroovyShell": _SCRIPT,
    "java.lang.Runtime": _COMMAND,
    "java.util.logging.FileHandler": _FILE,
    "javax.script.ScriptEngine": _SCRIPT,
    "javax.swing.JEditorPane": _FETCH,
    "javax.swing.JTextPane": _FETCH,
    "jodd.db.connection.DataSourceConnectionProvider": _LOOKUP,
    "net.sf.ehcache.hibernate.EhcacheJtaTransactionManagerLookup": _LOOKUP,
    "net.sf.ehcache.transaction.manager.DefaultTransactionManagerLookup": _LOOKUP,
    "net.sf.ehcache.transaction.manager.selector.GenericJndiSelector": _LOOKUP,
    "net.sf.ehcache.transaction.manager.selector.GlassfishSelector": _LOOKUP,
    "oadd.org.apache.commons.dbcp.cpdsadapter.DriverAdapterCPDS": _SOURCE,
    "oadd.org.apache.commons.dbcp.datasources.PerUserPoolDataSource": _LOOKUP,
    "oadd.org.apache.commons.dbcp.datasources.SharedPoolDataSource": _LOOKUP,
    "oadd.org.apache.xalan.lib.sql.JNDIConnectionPool": _LOOKUP,
    "oracle.jms.AQjmsQueueConnectionFactory": _LOOKUP,
    "oracle.jms.AQjmsTopicConnectionFactory": _LOOKUP,
    "oracle.jms.AQjmsXAConnectionFactory": _LOOKUP,
    "oracle.jms.AQjmsXAQueueConnectionFactory": _LOOKUP,
    "oracle.jms.AQjmsXATopicConnectionFactory": _LOOKUP,
    "org.aoju.bus.proxy.provider.RmiProvider": _LOOKUP,
    "org.aoju.bus.proxy.provider.remoting.RmiProvider": _LOOKUP,
    "org.apache.activemq.ActiveMQConnectionFactory": _REMOTE,
    "org.apache.activemq.ActiveMQXAConnectionFactory": _REMOTE,
    "org.apache.activemq.jms.pool.JcaPooledConnectionFactory": _LOOKUP,
    "org.apache.activemq.jms.pool.XaPooledConnectionFactory": _LOOKUP,
    "org.apache.activemq.pool.JcaPooledConnectionFactory": _LOOKUP,
    "org.apache.activemq.pool.PooledConnectionFactory": _LOOKUP,
    "org.apache.activemq.pool.XaPooledConnectionFactory": _LOOKUP,
    "org.apache.activemq.spring.ActiveMQConnectionFactory": _REMOTE,
    "org.apache.activemq.spring.ActiveMQXAConnectionFactory": _REMOTE,
    "org.apache.aries.transaction.jms.RecoverablePooledConnectionFactory": _LOOKUP,
    "org.apache.aries.transaction.jms.internal.XaPooledConnectionFactory": _LOOKUP,
    "org.apache.axis2.jaxws.spi.handler.HandlerResolverImpl": _LOOKUP,
    "org.apache.axis2.transport.jms.JMSOutTransportInfo": _LOOKUP,
    "org.apache.batik.swing.JSVGCanvas": _FETCH,
    "org.apache.cocoon.components.slide.impl.JMSContentInterceptor": _LOOKUP,
    "org.apache.commons.dbcp.cpdsadapter.DriverAdapterCPDS": _SOURCE,
    "org.apache.commons.dbcp.datasources.PerUserPoolDataSource": _LOOKUP,
    "org.apache.commons.dbcp2.cpdsadapter.DriverAdapterCPDS": _SOURCE,
    "org.apache.commons.dbcp2.datasources.PerUserPoolDataSource": _LOOKUP,
    "org.apache.commons.jelly.impl.Embedded": _SCRIPT,
    "org.apache.cxf.jaxrs.provider.XSLTJaxbProvider": _SCRIPT,
    "org.apache.hadoop.shaded.com.zaxxer.hikari.HikariConfig": _LOOKUP,
    "org.apache.ibatis.parsing.XPathParser": _FETCH,
    "org.apache.ignite.cache.jta.jndi.CacheJndiTmFactory": _LOOKUP,
    "org.apache.ignite.cache.jta.jndi.CacheJndiTmLookup": _LOOKUP,
    "org.apache.log.output.db.DefaultDataSource": _SOURCE,
    "org.apache.log4j.receivers.db.DriverManagerConnectionSource": _SOURCE,
    "org.apache.log4j.receivers.db.JNDIConnectionSource": _LOOKUP,
    "org.apache.openjpa.ee.JNDIManagedRuntime": _LOOKUP,
    "org.apache.openjpa.ee.RegistryManagedRuntime": _LOOKUP,
    "org.apache.openjpa.ee.WASRegistryManagedRuntime": _LOOKUP,
    "org.apache.shiro.realm.jndi.JndiRealmFactory": _LOOKUP,
    "org.apache.tomcat.dbcp.dbcp.cpdsadapter.DriverAdapterCPDS": _SOURCE,
    "org.apache.tomcat.dbcp.dbcp.datasources.PerUserPoolDataSource": _LOOKUP,
    "org.apache.tomcat.dbcp.dbcp.datasources.SharedPoolDataSource": _LOOKUP,
    "org.apache.tomcat.dbcp.dbcp2.cpdsadapter.DriverAdapterCPDS": _SOURCE,
    "org.apache.tomcat.dbcp.dbcp2.datasources.PerUserPoolDataSource": _LOOKUP,
    "org.apache.tomcat.dbcp.dbcp2.datasources.SharedPoolDataSource": _LOOKUP,
    "org.apache.velocity.runtime.resource.loader.DataSourceResourceLoader": _LOOKUP,
    "org.apache.xalan.lib.sql.JNDIConnectionPool": _LOOKUP,
    "org.arrah.framework.rdbms.UpdatableJdbcRowsetImpl": _LOOKUP,
    "org.docx4j.org.apache.xalan.lib.sql.JNDIConnectionPool": _LOOKUP,
    "org.h2.value.ValueJavaObject": _SECOND,
    "org.hibernate.jmx.StatisticsService": _LOOKUP,
    "org.jboss.util.propertyeditor.DocumentEditor": _FETCH,
    "org.jdom.transform.XSLTransformer": _SCRIPT,
    "org.jdom2.transform.XSLTransformer": _SCRIPT,
    "org.jsecurity.realm.jndi.JndiRealmFactory": _LOOKUP,
    "org.quartz.utils.JNDIConnectionProvider": _LOOKUP,
    "org.slf4j.ext.EventData": _SECOND,
    "org.springframework.aop.config.MethodLocatingFactoryBean": _SPRING,
    "org.springframework.beans.factory.ObjectFactory": _SPRING,
    "org.springframework.beans.factory.config.BeanReferenceFactoryBean": _SPRING,
    "org.yaml.snakeyaml.tokens.DirectiveToken": _SCRIPT,
}

# Names that begin so, exceptions aside.
PACKAGES: Final[tuple[tuple[str, str], ...]] = (
    ("com.mchange.v2.c3p0.", "loads a class or looks up a JNDI name when it is unpacked"),
    ("com.rometools.rome.feed.impl.", _GETTERS),
    ("com.sun.jndi.", _LOOKUP),
    ("com.sun.org.apache.bcel.", _BYTECODE),
    ("com.sun.org.apache.xalan.internal.xsltc.", _BYTECODE),
    ("com.sun.syndication.feed.impl.", _GETTERS),
    ("com.alibaba.citrus.springext.", _SPRING),
    ("com.caucho.config.types.", _LOOKUP),
    ("com.sun.corba.se.impl.", _REMOTE),
    ("javax.media.jai.remote.", _REMOTE),
    ("javax.naming.", _LOOKUP),
    ("org.apache.bcel.", _BYTECODE),
    ("org.apache.carbondata.core.scan.expression.", _METHOD),
    ("org.apache.commons.collections.functors.", _METHOD),
    ("org.apache.commons.collections4.functors.", _METHOD),
    ("org.apache.commons.proxy.provider.", _LOOKUP),
    ("org.apache.naming.", _LOOKUP),
    ("org.apache.xalan.xsltc.", _BYTECODE),
    ("org.apache.xbean.naming.", _LOOKUP),
    ("org.apache.xbean.propertyeditor.", _LOOKUP),
    ("org.codehaus.groovy.runtime.", _METHOD),
    ("org.jboss.interceptor.", _METHOD),
    ("org.jboss.proxy.ejb.", _REMOTE),
    ("org.jboss.weld.interceptor.", _METHOD),
    ("org.osjava.sj.", _LOOKUP),
    ("pstore.shaded.org.apache.commons.collections.functors.", _METHOD),
    ("sun.rmi.", _REMOTE),
)

# Classes of ordinary traffic that attacks also use: noted only together with one of the others.
COMPANIONS: Final[dict[str, str]] = {
    "com.alibaba.fastjson.JSONArray": _GETTERS,
    "com.alibaba.fastjson.JSONObject": _GETTERS,
    "com.alibaba.fastjson2.JSONArray": _GETTERS,
    "com.alibaba.fastjson2.JSONObject": _GETTERS,
    "com.fasterxml.jackson.databind.node.POJONode": _GETTERS,
    "java.util.PriorityQueue": _TRIGGER,
    "java.util.concurrent.PriorityBlockingQueue": _TRIGGER,
}

_BY_BYTES: Final[dict[bytes, str]] = {name.encode(): danger for name, danger in GADGETS.items()}
_STARTS: Final[tuple[bytes, ...]] = tuple([start.encode() for start, _ in PACKAGES])
_COMPANIONS: Final[dict[bytes, str]] = {name.encode(): danger for name, danger in COMPANIONS.items()}


def companion(name: bytes) -> str:
    """The same of a class in `COMPANIONS`."""
    return _COMPANIONS.get(name, "")


def gadget(name: bytes) -> str:
    """What a class known from attacks does, in a few words; empty for other classes."""
    danger = _BY_BYTES.get(name)
    if danger is not None:
        return danger
    if name.startswith(_STARTS) and not name.endswith((b"Exception", b"Error")):
        for start, danger in PACKAGES:
            if name.startswith(start.encode()):
                return danger
    return ""
