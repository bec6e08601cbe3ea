"""Classes known from attacks on deserialization: reported where a message names them, never loaded.

A receiver that reads such a class with Hessian's Java library may run code of the sender's choice: when
fields are set, when a map or set puts the object in (hashCode, equals, compareTo), or when something
prints it (toString).
"""

from typing import Final

from mypy_extensions import i64

from wirelens.codecs import tape as t
from wirelens.codecs.hessian.java import number_lost
from wirelens.codecs.hessian.well_known_classes import learn_harmless, names_number
from wirelens.codecs.node import Node
from wirelens.codecs.tape import Buffer, Tape

CODE: Final = "gadget-class"
LOST: Final = "number-lost"


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
}

# Names that begin so, exceptions aside.
PACKAGES: Final[tuple[tuple[str, str], ...]] = (
    ("com.mchange.v2.c3p0.", "loads a class or looks up a JNDI name when it is unpacked"),
    ("com.rometools.rome.feed.impl.", _GETTERS),
    ("com.sun.jndi.", _LOOKUP),
    ("com.sun.org.apache.bcel.", _BYTECODE),
    ("com.sun.org.apache.xalan.internal.xsltc.", _BYTECODE),
    ("com.sun.syndication.feed.impl.", _GETTERS),
    ("javax.naming.", _LOOKUP),
    ("org.apache.bcel.", _BYTECODE),
    ("org.apache.commons.collections.functors.", _METHOD),
    ("org.apache.commons.collections4.functors.", _METHOD),
    ("org.apache.naming.", _LOOKUP),
    ("org.apache.xalan.xsltc.", _BYTECODE),
    ("org.apache.xbean.naming.", _LOOKUP),
    ("org.codehaus.groovy.runtime.", _METHOD),
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


class _Lost:
    """The numbers that a sender lost: the first, and how many there are."""

    def __init__(self) -> None:
        self.text = ""
        self.position: i64 = 0
        self.buffer: Buffer | None = None
        self.count = 0

    def look(self, tape: Tape, index: i64, buffer: Buffer) -> None:
        """Count an object or map, if it is complete and such a number."""
        if tape.next(index) <= index:
            return
        text = number_lost(Node(tape, int(index), buffer))
        if text:
            self.count += 1
            if self.count == 1:
                self.text = text
                self.position = tape.start(index)
                self.buffer = buffer

    def note(self, tape: Tape) -> None:
        """Write the note, if there is anything to note."""
        if self.buffer is not None:
            others = f"; {self.count - 1} more like it" if self.count > 1 else ""
            tape.note(LOST, self.position, self.text + others, self.buffer)


def class_notes(tape: Tape) -> None:
    """Note each class of `GADGETS` and `PACKAGES` once, where a tape first names it, and lost numbers.

    The offset is that of the name; an array's type, such as `[com.example.Car`, names its class. Of the
    BigDecimals and BigIntegers whose sender lost the number the first is noted, at its own offset. Looks at
    each node once, and at none if decoding read only names that are known to need no note.
    """
    if not tape.unchecked_names:
        return
    size: i64 = tape.size()
    index: i64 = 0
    buffer: Buffer = tape.buffer
    ends: list[int] = []
    outer: list[Buffer] = []
    seen: set[bytes] = set()
    companions: list[tuple[bytes, int, Buffer]] = []
    gadget_seen = False
    numbers = False
    lost = _Lost()
    while index < size:
        while ends and index >= ends[-1]:
            ends.pop()
            buffer = outer.pop()
        head: i64 = tape.head(index)
        kind: i64 = head & t.KIND_MASK
        if head & t.EMBEDDED:
            ends.append(int(tape.next(index)))
            outer.append(buffer)
            buffer = tape.buffers[int(tape.number(index))]
        elif (kind == t.TYPE and tape.number(index) == index) or kind == t.CLASS:
            text: i64 = index + 1
            while text < tape.next(index) and not t.STRING <= tape.kind(text) <= t.STRING16:
                text = tape.next(text)
            if text < tape.next(index) and tape.number(text) >= 0:
                name = buffer.data[tape.number(text) : tape.end(text)]
                full_name = name
                number = names_number(name, 0, len(name))
                if number:
                    numbers = True
                    if kind == t.TYPE and tape.kind(index - 1) == t.MAP:
                        lost.look(tape, index - 1, buffer)
                if name.startswith(b"["):
                    name = name.lstrip(b"[")
                if name not in seen:
                    danger = gadget(name)
                    if danger:
                        seen.add(name)
                        gadget_seen = True
                        _note(tape, name, danger, tape.start(text), buffer)
                    elif name in _COMPANIONS:
                        seen.add(name)
                        companions.append((name, int(tape.start(text)), buffer))
                    elif not number:
                        learn_harmless(full_name)
        elif kind == t.OBJECT and numbers:
            lost.look(tape, index, buffer)
        index += 1
    lost.note(tape)
    if gadget_seen:
        for name, position, holder in companions:
            _note(tape, name, _COMPANIONS[name], position, holder)


def _note(tape: Tape, name: bytes, danger: str, position: i64, buffer: Buffer) -> None:
    class_name = name.decode("utf-8", "replace")
    tape.note(CODE, position, f"{class_name} is known from deserialization attacks: it {danger}", buffer)
